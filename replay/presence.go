package replay

import "github.com/retrace-db/retrace/trace"

// presence counts the sessions that a trace has open at once.
type presence struct {
	open   map[uint64]struct{}
	closed []uint64
	most   int
}

// block takes what a block holds. Within one, which spans a second at most, all
// count as open; sessions that were open before are, with no event.
func (c *presence) block(b *trace.Batch) {
	if c.open == nil {
		c.open = map[uint64]struct{}{}
	}
	for i := range b.States {
		if s := &b.States[i]; s.Ordinal > 0 {
			c.open[s.Session] = struct{}{}
		}
	}
	events := b.Events
	c.closed = c.closed[:0]
	for i := range events {
		switch e := &events[i]; e.Entry.Op {
		case trace.OpCancel:
		case trace.OpEnd:
			c.closed = append(c.closed, e.Session)
		default:
			c.open[e.Session] = struct{}{}
		}
	}
	c.most = max(c.most, len(c.open))
	for _, id := range c.closed {
		delete(c.open, id)
	}
}

// peak counts the most sessions a trace has open at once, reading only when
// they begin and end.
func peak(again func(trace.ReadOptions) (*trace.Reader, error)) (int, error) {
	in, err := again(trace.ReadOptions{NoValues: true})
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	var c presence
	var b trace.Batch
	for in.Next(&b) == nil { // what is wrong with it is said when it is replayed
		c.block(&b)
	}
	return c.most, nil
}
