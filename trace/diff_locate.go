package trace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// partSessions bounds how many sessions are remembered at a time while looking
// for those without a partner; maxUnpaired how many of these are kept.
const (
	partSessions = 1 << 20
	maxUnpaired  = 1024
)

// locate finds the first difference: sessions that have no partner are paired
// in order of their start, and the first such pair is compared event by event.
func (d *differ) locate() error {
	var alone [2][]stream
	parts := 1 + max(d.result.Sessions[0], d.result.Sessions[1])/partSessions
	for part := range parts {
		if err := d.unpaired(part, parts, &alone); err != nil {
			return err
		}
	}
	for side := range alone {
		slices.SortFunc(alone[side], func(a, b stream) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.session, b.session))
		})
	}
	switch {
	case len(alone[0]) == 0 && len(alone[1]) == 0:
		d.result.FirstDifference = &FirstDifference{What: "the traces differ, and no session does: a file changed while it was read"}
	case len(alone[0]) == 0:
		d.only(1, &alone[1][0])
	case len(alone[1]) == 0:
		d.only(0, &alone[0][0])
	default:
		return d.compare(&alone[0][0], &alone[1][0])
	}
	return nil
}

// unpaired collects, of the sessions whose digest falls into one part, those
// that the other side does not have.
func (d *differ) unpaired(part, parts uint64, alone *[2][]stream) error {
	balance := map[digest]int{}
	for side, step := range [2]int{1, -1} {
		err := d.streams(side, false, func(s *stream) {
			if s.sum.h[0]%parts == part {
				balance[s.sum] += step
			}
		})
		if err != nil {
			return err
		}
	}
	for side, step := range [2]int{1, -1} {
		err := d.streams(side, false, func(s *stream) {
			if s.sum.h[0]%parts == part && balance[s.sum]*step > 0 {
				balance[s.sum] -= step
				alone[side] = keepEarliest(alone[side], s)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keepEarliest adds a stream to a bounded list, from which the latest falls out.
func keepEarliest(list []stream, s *stream) []stream {
	if len(list) < maxUnpaired {
		return append(list, *s)
	}
	latest := 0
	for i := range list {
		if list[i].start > list[latest].start {
			latest = i
		}
	}
	if s.start < list[latest].start {
		list[latest] = *s
	}
	return list
}

// only says that a session stands on one side alone.
func (d *differ) only(side int, s *stream) {
	f := &FirstDifference{What: fmt.Sprintf("a session of %d events (%s) is in the %s trace only", s.events, s.user, [2]string{"first", "second"}[side])}
	f.Sessions[side] = s.session
	d.result.FirstDifference = f
}

// compare finds where two sessions part.
func (d *differ) compare(a, b *stream) error {
	f := &FirstDifference{Sessions: [2]uint64{a.session, b.session}}
	d.result.FirstDifference = f
	if a.user != b.user {
		f.What = fmt.Sprintf("logged in as %s and as %s (user@database)", a.user, b.user)
		return nil
	}
	var cursors [2]*sessionCursor
	for side, s := range []*stream{a, b} {
		r, err := Open(d.paths[side]...)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // was only read
		cursors[side] = &sessionCursor{r: r, session: s.session}
	}
	for {
		var e [2]*Event
		for side := range cursors {
			var err error
			if e[side], err = cursors[side].next(); err != nil {
				return err
			}
			if e[side] != nil {
				f.Ordinals[side] = e[side].Ordinal
			}
		}
		if f.What = parting(e[0], e[1]); f.What != "" || e[0] == nil {
			return nil
		}
	}
}

// parting says how two events of paired sessions differ, "" if they do not.
func parting(a, b *Event) string {
	switch {
	case a == nil && b == nil:
		return ""
	case a == nil:
		return fmt.Sprintf("the session of the first trace ends before %s", describe(b))
	case b == nil:
		return fmt.Sprintf("the session of the second trace ends before %s", describe(a))
	case a.Entry.Op != b.Entry.Op || !bytes.Equal(a.Entry.Shape, b.Entry.Shape):
		return fmt.Sprintf("%s against %s", describe(a), describe(b))
	case !slices.Equal(a.Sizes, b.Sizes) || !bytes.Equal(a.Values, b.Values):
		return fmt.Sprintf("values of %s: %.80q against %.80q", describe(a), a.Values, b.Values)
	case a.RequestEnd != b.RequestEnd:
		return fmt.Sprintf("%s ends a request on one side only", describe(a))
	}
	return ""
}

func describe(e *Event) string { return fmt.Sprintf("%s %.200q", e.Entry.Op, e.Entry.SQL()) }

// sessionCursor gives the events of one session that are not exempt.
type sessionCursor struct {
	r       *Reader
	session uint64
	b       Batch
	at      int
	ended   bool
}

func (c *sessionCursor) next() (*Event, error) {
	for {
		for c.at < len(c.b.Events) {
			e := &c.b.Events[c.at]
			c.at++
			if e.Session == c.session && !exempt(e) {
				return e, nil
			}
		}
		if c.ended {
			return nil, nil
		}
		c.at = 0
		if err := c.r.Next(&c.b); errors.Is(err, io.EOF) {
			c.ended = true
		} else if err != nil {
			return nil, err
		}
	}
}
