package pg

// ring is a queue with positions that are never used twice, so that an
// expectation can name its event. It grows as needed and allocates nothing
// after that; its users bound its length.
type ring[T any] struct {
	buf        []T // length a power of two, or none
	head, tail uint64
}

func (r *ring[T]) len() int { return int(r.tail - r.head) }

func (r *ring[T]) at(i uint64) *T { return &r.buf[i&uint64(len(r.buf)-1)] }

func (r *ring[T]) front() *T { return r.at(r.head) }

// add appends an element, which is whatever was there before, and returns it.
func (r *ring[T]) add() *T {
	if r.len() == len(r.buf) {
		r.grow()
	}
	r.tail++
	return r.at(r.tail - 1)
}

func (r *ring[T]) grow() {
	old := *r
	r.buf = make([]T, max(8, 2*len(old.buf)))
	for i := old.head; i != old.tail; i++ {
		*r.at(i) = *old.at(i)
	}
}

// roomy is how much an idle queue may keep for the next burst.
const roomy = 256

// trim lets go of a burst's memory once the ring is empty.
func (r *ring[T]) trim() {
	if len(r.buf) > roomy {
		r.buf = nil
	}
}

// bytesRing keeps the bytes that expectations need until they are met: names,
// and the Parse messages the server has not accepted yet.
type bytesRing struct {
	buf  []byte
	base uint64 // position of buf[0]
}

func (r *bytesRing) tail() uint64 { return r.base + uint64(len(r.buf)) }

// of returns what an expectation remembered.
func (r *bytesRing) of(x *expectation) []byte {
	if x.size == 0 {
		return nil
	}
	i := x.at - r.base
	return r.buf[i : i+uint64(x.size)]
}

// free gives up what an expectation remembered, and everything before it.
func (r *bytesRing) free(x *expectation) {
	if x.size > 0 {
		r.freeTo(x.at + uint64(x.size))
	}
}

func (r *bytesRing) freeTo(to uint64) {
	switch used := int(to - r.base); {
	case used == len(r.buf):
		r.base = to
		if cap(r.buf) > 64*roomy {
			r.buf = nil
		}
		r.buf = r.buf[:0]
	case used > 4096 && used > len(r.buf)/2:
		r.buf = r.buf[:copy(r.buf, r.buf[used:])]
		r.base = to
	}
}
