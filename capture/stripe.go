package capture

import (
	"sync"
	"sync/atomic"
)

const (
	stripes  = 16
	pageSize = 32 << 10
	// creditStep is how much of the queue's room a stripe takes at a time, so
	// that the counter all sessions share is touched once in hundreds of rows.
	creditStep = 32 << 10
)

// queue bounds what all stripes hold together.
type queue struct {
	limit int64
	step  int64
	used  atomic.Int64
}

// stripe is the part of the queue that the sessions of one lane share. The
// encoder takes all of it at once; that swap is the only time it is held up.
type stripe struct {
	mu    sync.Mutex
	batch batch
	_     [64]byte // neighbours in the array must not share a cache line
}

// batch is what a stripe has collected: rows, and the pages their data is in.
type batch struct {
	rows   []row
	page   []byte   // where data goes now
	pages  [][]byte // full ones, to be used again once the rows are read
	weight int64
	credit int64
}

// put appends a row and copies its data (with a name in front, if any).
func (s *stripe) put(r *row, name []byte, q *queue) {
	n := len(name) + len(r.data)
	s.mu.Lock()
	b := &s.batch
	b.rows = append(b.rows, *r)
	if n > 0 {
		r = &b.rows[len(b.rows)-1]
		r.name = uint32(len(name))
		r.data = b.copy(name, r.data)
	}
	b.weight += rowCost + int64(n)
	if b.weight > b.credit {
		step := max(q.step, b.weight-b.credit)
		b.credit += step
		q.used.Add(step)
	}
	s.mu.Unlock()
}

func (b *batch) copy(name, data []byte) []byte {
	n := len(name) + len(data)
	if n > cap(b.page)-len(b.page) {
		b.turn(n)
	}
	at := len(b.page)
	b.page = append(append(b.page, name...), data...)
	return b.page[at:len(b.page):len(b.page)]
}

// turn begins a new page of at least n bytes.
func (b *batch) turn(n int) {
	if cap(b.page) == pageSize {
		b.pages = append(b.pages, b.page)
	}
	if n > pageSize {
		b.page = make([]byte, 0, n)
		return
	}
	b.page = pages.Get().(*[pageSize]byte)[:0]
}

var pages = sync.Pool{New: func() any { return new([pageSize]byte) }}

// empty tells whether there is nothing to take.
func (s *stripe) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.batch.rows) == 0
}

// take swaps what was collected for an empty batch.
func (s *stripe) take(empty batch) batch {
	s.mu.Lock()
	b := s.batch
	s.batch = empty
	s.mu.Unlock()
	return b
}

// keepRows bounds what an empty batch holds on to after a burst.
const keepRows = 1024

// reset makes a batch that was read ready to be filled again.
func (b batch) reset() batch {
	clear(b.rows) // their pointers would keep sessions and pages alive
	if cap(b.rows) > keepRows {
		b.rows = nil
	}
	for _, p := range b.pages {
		pages.Put((*[pageSize]byte)(p[:pageSize]))
	}
	clear(b.pages)
	page := b.page[:0]
	if cap(page) != pageSize {
		page = nil
	}
	return batch{rows: b.rows[:0], page: page, pages: b.pages[:0]}
}
