package trace

import "math"

// windowed prepares the sources for a window: the states at its beginning come
// before everything else.
func (r *Reader) windowed() {
	for _, s := range r.sources {
		s.key = math.MinInt64
		if s.in != nil && r.window.bounded() {
			s.table = r.sessions()
		}
	}
}

// sessions is an empty table. Without values there is nothing to follow.
func (r *Reader) sessions() *sessions {
	if r.dec.noValues {
		return newSessions(nil)
	}
	return newSessions(r.follower)
}

// wanted tells whether a block is of use to a window. Of files, only such ones
// are visited.
func (s *source) wanted(h *blockHeader) bool {
	w := s.r.window
	return w == nil || s.route != nil || w.meets(h) || s.table != nil && w.before(h)
}

// inside leaves in b what belongs to the window, and puts states before it where
// they are due; false if nothing is left.
func (s *source) inside(b *Batch) bool {
	w := s.r.window
	var led map[uint64]bool // sessions that this block says more of
	if s.table != nil && !b.Header.IsRun() {
		led = s.lead(b)
	}
	w.narrow(b, s.table != nil && !s.opened)
	if b.size() == 0 {
		return false
	}
	if s.table == nil {
		return true
	}
	if !s.opened {
		s.opened = true
		s.front = w.tell(s.table.states())
	} else if len(b.Events) > 0 {
		s.front = s.table.some(led)
	}
	if len(s.front) > 0 {
		aside := *b
		s.aside, s.key = &aside, math.MinInt64
		s.deliver(b)
	}
	return true
}

// lead follows what a block of a pipe says of the time before the window.
func (s *source) lead(b *Batch) map[uint64]bool {
	w := s.r.window
	w.lead(s.table, b)
	var led map[uint64]bool
	for i := range b.Events {
		if e := &b.Events[i]; e.Start < w.from && s.opened && w.has(e.Session) {
			if led == nil {
				led = map[uint64]bool{}
			}
			led[e.Session] = true
		}
	}
	return led
}

// deliver hands out what is to come before the next block: states, and then
// what they were put before.
func (s *source) deliver(b *Batch) bool {
	switch {
	case len(s.front) > 0:
		header := s.header()
		if s.aside == nil {
			b.sizes = b.sizes[:0]
		}
		*b = Batch{Header: header, States: s.front, sizes: b.sizes}
		s.front = nil
	case s.aside != nil:
		*b, s.aside, s.key = *s.aside, nil, s.ahead.first
	default:
		return false
	}
	return true
}

// header is that of the segment at hand, or the next.
func (s *source) header() *Header {
	if s.seg != nil {
		return s.seg.header
	}
	return s.refs[0].header
}

// some are the states of those of the sessions that are live and known.
func (t *sessions) some(ids map[uint64]bool) []State {
	var some []State
	for id := range ids {
		if f := t.live[id]; f != nil && f.known {
			some = append(some, f.now())
		}
	}
	return some
}
