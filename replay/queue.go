package replay

import (
	"sync"
	"sync/atomic"
)

// sessionMemory is what a queue holds in memory before the rest goes to the
// spill file. With few sessions there is room for more, see source.limit.
const sessionMemory = 16 << 10

// availability is what a queue has at the moment.
type availability byte

const (
	ready availability = iota
	dry                // nothing yet
	ended              // nothing any more
)

// queue holds what the reader has read of a session and its player has not
// consumed: a head that the player decodes, chunks in the spill file, and a tail
// that the reader appends to, in that order.
type queue struct {
	spill  *spill
	source *source // whose counters tell whether to read on
	wake   func()  // called, without the lock, when a waiting player has something to do

	mu      sync.Mutex
	tail    []byte
	chunks  int    // in the spill file
	first   uint32 // of them
	last    uint32 // reserved for the next one, when chunks > 0
	closed  bool
	waiting bool
	failed  error
	limit   int // of the last push

	pushed uint64        // records, by the reader
	taken  atomic.Uint64 // records, by the player

	// The player's own.
	head []byte
	pos  int
}

// push appends an encoded record. limit is how much may stay in memory.
func (q *queue) push(b []byte, limit int, scratch *[chunkSize]byte) error {
	q.mu.Lock()
	q.limit = limit
	q.tail = append(q.tail, b...)
	if len(q.tail) > limit {
		q.failed = q.toDisk(scratch)
	}
	err, wake := q.failed, q.unwait()
	q.mu.Unlock()
	q.source.queued.Add(int64(len(b)))
	if wake {
		q.wake()
	}
	return err
}

// unwait ends the player's waiting, and tells whether it was; q.mu is held.
func (q *queue) unwait() bool {
	if !q.waiting {
		return false
	}
	q.waiting = false
	q.source.hungry.Add(-1)
	return true
}

// toDisk moves whole chunks of the tail to the spill file; q.mu is held.
func (q *queue) toDisk(scratch *[chunkSize]byte) error {
	rest := q.tail
	for len(rest) >= chunkData {
		if q.chunks == 0 {
			chunk, _, err := q.spill.reserve()
			if err != nil {
				return err
			}
			q.first, q.last = chunk, chunk
		}
		next, err := q.spill.write(q.last, rest[:chunkData], scratch)
		if err != nil {
			return err
		}
		q.chunks++
		q.last = next
		rest = rest[chunkData:]
	}
	if q.tail = q.tail[:copy(q.tail, rest)]; q.oversized(q.tail) {
		q.tail = append([]byte(nil), q.tail...)
	}
	return nil
}

// close says that nothing will follow.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	wake := q.unwait()
	q.mu.Unlock()
	if wake {
		q.wake()
	}
}

// peek decodes the next record without consuming it.
func (q *queue) peek(r *record) (availability, error) {
	for {
		rest := q.head[q.pos:]
		if n := recordLength(rest); n > 0 && n <= len(rest) {
			r.decode(rest)
			return ready, nil
		}
		more, err := q.refill()
		if err != nil || more != ready {
			return more, err
		}
	}
}

// advance consumes the record that peek decoded.
func (q *queue) advance(r *record) {
	n := r.size()
	q.pos += n
	q.taken.Store(q.taken.Load() + 1)
	if left := q.source.queued.Add(-int64(n)); left < q.source.prefetch && left+int64(n) >= q.source.prefetch {
		q.source.notify()
	}
}

// refill makes the head longer by a chunk, or by all of the tail.
func (q *queue) refill() (availability, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.head = q.head[:copy(q.head, q.head[q.pos:])]
	q.pos = 0
	switch {
	case q.failed != nil:
		return ended, q.failed
	case q.chunks > 0:
		var err error
		q.head, q.first, err = q.spill.read(q.head, q.first)
		if q.chunks--; q.chunks == 0 && err == nil {
			q.spill.release(q.last)
		}
		return ready, err
	case len(q.tail) > 0 && len(q.head) == 0:
		q.head, q.tail = q.tail, q.shrunk(q.head)
	case len(q.tail) > 0:
		q.head = append(q.head, q.tail...)
		q.tail = q.tail[:0]
	case q.closed:
		return ended, nil
	default:
		return dry, nil
	}
	return ready, nil
}

// shrunk is an emptied buffer to fill again, or none if it grew large.
func (q *queue) shrunk(b []byte) []byte {
	if q.oversized(b) {
		return nil
	}
	return b[:0]
}

func (q *queue) oversized(b []byte) bool { return cap(b) > 4*max(q.limit, sessionMemory) }

// arm asks to be woken by the next push or close. It tells whether there is
// something already.
func (q *queue) arm() (already bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	already = q.chunks > 0 || len(q.tail) > 0 || q.closed || q.failed != nil
	if !already && !q.waiting {
		q.waiting = true
		q.source.hungry.Add(1)
		q.source.notify()
	}
	return already
}

// disarm takes the wish back.
func (q *queue) disarm() {
	q.mu.Lock()
	q.unwait()
	q.mu.Unlock()
}

// consumed tells whether the player has taken all that was pushed. It is the
// reader's to ask.
func (q *queue) consumed() bool { return q.pushed == q.taken.Load() }
