package trace

import "hash/maphash"

// digest identifies what a session sent: two hashes under seeds that nobody
// outside this process knows.
type digest struct {
	h [2]uint64
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// extend makes the digest that of what it stood for, followed by b.
func (d *digest) extend(b []byte) {
	for i := range d.h {
		var h maphash.Hash
		h.SetSeed(seeds[i])
		put(&h, d.h[i])
		_, _ = h.Write(b) // never fails
		d.h[i] = h.Sum64()
	}
}

// event extends a digest by one request.
func (d *digest) event(e *Event) {
	for i := range d.h {
		var h maphash.Hash
		h.SetSeed(seeds[i])
		put(&h, d.h[i])
		end := byte(0)
		if e.RequestEnd {
			end = 1
		}
		_ = h.WriteByte(byte(e.Entry.Op))
		_ = h.WriteByte(end)
		put(&h, uint64(len(e.Entry.Shape)))
		_, _ = h.Write(e.Entry.Shape)
		for _, n := range e.Sizes {
			put(&h, n)
		}
		_, _ = h.Write(e.Values)
		d.h[i] = h.Sum64()
	}
}

// add makes the digest that of a set with one more member, in any order.
func (d *digest) add(o digest) {
	d.h[0] += o.h[0]
	d.h[1] += o.h[1]
}

func put(h *maphash.Hash, v uint64) {
	var b [8]byte
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	_, _ = h.Write(b[:])
}
