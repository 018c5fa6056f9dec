package trace

import (
	"errors"
	"math"
	"slices"
)

var (
	errTime   = errors.New("time is outside of the block's")
	errSmall  = errors.New("number out of range")
	errWord   = errors.New("a dictionary entry it needs is lost")
	errValues = errors.New("values are missing")
)

// events decodes an event block.
func (d *decoder) events(h *blockHeader, seg *readSegment, b *Batch) error {
	if err := d.openEvents(h); err != nil {
		return err
	}
	n := int(h.count)
	b.Events = slices.Grow(b.Events[:0], n)[:n]
	b.sizes = b.sizes[:0]
	c := &d.cols
	row := rowDecoder{
		c: c, words: &seg.words, tick: seg.header.TickNS, base: h.first / seg.header.TickNS,
		span: uint64(h.last-h.first) / uint64(seg.header.TickNS), sizes: b.sizes,
	}
	row.maxTook = uint64(math.MaxInt64/4) / uint64(row.tick)
	for i := 0; i < n; {
		ordinal, k, err := c.run(&row.session, n-i, h.lanes)
		if err != nil {
			return err
		}
		if err := row.run(b.Events[i:i+k], ordinal); err != nil {
			return err
		}
		i += k
	}
	b.sizes = row.sizes
	if row.small > math.MaxUint8 || row.results > math.MaxUint32 {
		return errSmall
	}
	return c.done()
}

// rowDecoder reads the columns event by event: all columns of one event before
// the next, so that an event is touched once.
type rowDecoder struct {
	c       *eventColumns
	words   *words
	session uint64
	tick    int64
	base    int64 // the block's first, in ticks
	span    uint64
	maxTook uint64
	small   uint64 // everything that must fit a byte, or'ed
	results uint64
	sizes   []uint64
}

// run reads the events of one run.
func (r *rowDecoder) run(events []Event, ordinal uint64) error {
	c := r.c
	before := int64(0) // since base
	for i := range events {
		e := &events[i]
		start := before + unzigzag(c.gap.next())
		if uint64(start) > r.span {
			return errTime
		}
		took, tail := c.took.next(), c.tail.next()
		e.HasReply = took != 0
		if took > 0 {
			took--
		}
		if took > r.maxTook || tail > took {
			return errTime
		}
		before = start + int64(took)
		e.Session, e.Ordinal = r.session, ordinal+uint64(i)
		e.Start = (r.base + start) * r.tick
		e.Took, e.Tail = int64(took)*r.tick, int64(tail)*r.tick
		if err := r.entry(e); err != nil {
			return err
		}
		e.Rows, e.Bytes = c.rows.next(), c.bytes.next()
		e.Checksum, e.HasChecksum = c.checksum.next(), c.hasChecksum && e.HasReply
		results, status, state, flags, diverged := c.results.next(), c.status.next(), c.state.next(), c.flags.next(), c.diverged.next()
		r.results |= results
		r.small |= status | state | flags | diverged
		e.Results, e.Status, e.State, e.Diverged = uint32(results), Status(status), byte(state), Diverged(diverged)
		e.RequestEnd, e.OverLimit = flags&flagRequestEnd != 0, flags&flagOverLimit != 0
		r.due(e)
		if err := r.values(e); err != nil {
			return err
		}
	}
	return nil
}

// entry resolves the words of an event.
func (r *rowDecoder) entry(e *Event) error {
	id := r.c.shape.next()
	e.Entry = r.words.entry(id)
	if e.Entry == nil {
		return errWord
	}
	e.Shape = uint32(id)
	ref := r.c.reason.next()
	if ref == 0 {
		e.Reason = ""
		return nil
	}
	var ok bool
	if e.Reason, ok = r.words.reason(ref); !ok {
		return errWord
	}
	return nil
}

func (r *rowDecoder) due(e *Event) {
	due := r.c.due.next()
	e.HasDue, e.Due = due != 0, 0
	if due != 0 {
		e.Due = e.Start - unzigzag(due-1)*r.tick
	}
}

// values cuts the values of an event off the column.
func (r *rowDecoder) values(e *Event) error {
	e.Sizes, e.Values = nil, nil
	if !r.c.hasValues {
		return nil
	}
	holes := e.Entry.Holes
	if holes == 0 {
		return nil
	}
	if len(r.sizes)+holes > r.c.sizes {
		return errValues
	}
	from, total := len(r.sizes), uint64(0)
	left := uint64(len(r.c.value))
	for range holes {
		n := r.c.size.next()
		r.sizes = append(r.sizes, n)
		if n <= SizeRedacted {
			continue
		}
		if total += n - SizeOf(0); n > math.MaxUint32 || total > left {
			return errValues
		}
	}
	if r.c.size.bad {
		return errValues
	}
	e.Sizes = r.sizes[from:len(r.sizes):len(r.sizes)]
	e.Values, r.c.value = r.c.value[:total:total], r.c.value[total:]
	return nil
}
