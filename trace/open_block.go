package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// outcome is what a row holds of a reply, times in ticks.
type outcome struct {
	took, tail  int64 // took -1: not known
	rows, bytes uint64
	checksum    uint64
	results     uint32
	status      Status
	state       byte
	reason      string // interned when the block is sealed, since its id may change before
}

// row is an event in the open block.
type row struct {
	outcome
	start              int64
	due                uint64 // 0 none, else zigzag of start - due, +1
	ordinal            uint64
	shape              uint32
	sizes, values      uint32 // where they begin in the arenas
	sizesEnd, valueEnd uint32
	next               int32 // of the same session
	op                 Op
	flags, diverged    byte
}

func flagsOf(e *Event) byte {
	var f byte
	if e.RequestEnd {
		f |= flagRequestEnd
	}
	if e.OverLimit {
		f |= flagOverLimit
	}
	return f
}

// openBlock is the block being filled: rows in order of arrival, a list of
// them per session, their values end to end.
type openBlock struct {
	rows    []row
	active  []*session
	sizes   []byte // uvarints
	values  []byte
	raw     int
	first   int64 // earliest start, ticks
	last    int64 // latest end, of late replies too
	counted Totals
}

// checkValues refuses an event whose values do not fit its shape: a reader
// could not tell them apart again.
func checkValues(e *Event, meta *entryMeta, noValues bool) error {
	if noValues {
		return nil
	}
	if len(e.Sizes) != meta.holes {
		return fmt.Errorf("event %d of session %d has %d values, its shape has %d", e.Ordinal, e.Session, len(e.Sizes), meta.holes)
	}
	if n := len(e.Values) + meta.raw; n > maxEventBytes {
		return fmt.Errorf("event %d of session %d has %d bytes, over %d: record it as over the limit", e.Ordinal, e.Session, n, maxEventBytes)
	}
	var sum uint64
	for _, n := range e.Sizes {
		if n > SizeRedacted {
			sum += n - SizeOf(0)
		}
	}
	if sum != uint64(len(e.Values)) {
		return fmt.Errorf("event %d of session %d: its sizes are of %d bytes, its values have %d", e.Ordinal, e.Session, sum, len(e.Values))
	}
	return nil
}

// add appends the row of an event to its session's list.
func (o *openBlock) add(s *session, e *Event, start int64, noValues bool) *row {
	n := int32(len(o.rows))
	if n == 0 {
		o.first, o.last = start, max(start, o.last)
	}
	o.first, o.last = min(o.first, start), max(o.last, start)
	if n < int32(cap(o.rows)) {
		o.rows = o.rows[:n+1]
	} else {
		o.rows = append(o.rows, row{})
	}
	r := &o.rows[n]
	r.next, r.start = -1, start
	if s.head < 0 {
		s.head = n
		o.active = append(o.active, s)
	} else {
		o.rows[s.tail].next = n
	}
	s.tail = n
	r.sizes, r.values = uint32(len(o.sizes)), uint32(len(o.values))
	if !noValues {
		for _, v := range e.Sizes {
			o.sizes = appendUvarint(o.sizes, v)
		}
		o.values = append(o.values, e.Values...)
	}
	o.raw += eventOverhead + len(o.sizes) - int(r.sizes) + len(e.Values)
	r.sizesEnd, r.valueEnd = uint32(len(o.sizes)), uint32(len(o.values))
	return r
}

// count keeps the totals of the block.
func (o *openBlock) count(r *row) {
	o.counted.Events++
	o.counted.Requests += uint64(r.flags & flagRequestEnd)
	if r.op.Statement() {
		o.counted.Statements++
	}
}

// newSessions counts the sessions that no written block has.
func (o *openBlock) newSessions() uint64 {
	n := uint64(0)
	for _, s := range o.active {
		if !s.known {
			n++
		}
	}
	return n
}

// sort puts the sessions in the order of the block.
func (o *openBlock) sort() {
	slices.SortFunc(o.active, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
}

// reset empties the block; the sessions' lists with it.
func (o *openBlock) reset() {
	for _, s := range o.active {
		s.head, s.tail = -1, -1
		live := s.waiting()
		for i := range live {
			live[i].row = -1
		}
	}
	clear(o.active)
	clear(o.rows) // reasons are pointers
	o.rows, o.active, o.sizes, o.values = o.rows[:0], o.active[:0], o.sizes[:0], o.values[:0]
	o.raw, o.first, o.last, o.counted = 0, 0, 0, Totals{}
}
