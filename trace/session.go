package trace

// session is what the writer keeps of a live session: its rows in the open
// block, the events that wait for a reply, and the times that the next event
// and the next reply must respect.
type session struct {
	id         uint64
	head, tail int32 // rows in the open block, -1 for none
	known      bool  // counted in a block that was written
	ended      bool

	begun   bool
	ordinal uint64 // of the last event
	startNS int64  // of the last event
	start   int64  // the same in ticks, as written
	endNS   int64  // of the latest reply
	end     int64

	pending  []pending
	answered int // pending[:answered] are done with
}

// pending is an event whose reply is not known.
type pending struct {
	ordinal uint64
	startNS int64
	start   int64
	row     int32 // in the open block; -1 once that was written
	holes   int32
}

// begin places the start of the next event, in ticks. Times never run
// backwards within a session, and rounding never makes an event that followed
// a reply look as if it had not waited for it, or the reverse.
func (s *session) begin(ns, tick int64) int64 {
	if s.begun && ns < s.startNS {
		ns = s.startNS
	}
	t := floorDiv(ns, tick)
	if !s.begun {
		s.begun, s.startNS, s.start, s.endNS, s.end = true, ns, t, ns, t
		return t
	}
	t = max(t, s.start)
	switch {
	case ns >= s.endNS:
		t = max(t, s.end)
	case t >= s.end && s.end-1 >= s.start:
		t = s.end - 1
	}
	s.startNS, s.start = ns, t
	return t
}

// finish turns the length of a reply into ticks. A reply that came after a
// later event was sent ends a tick after that event's start at least.
func (s *session) finish(p *pending, took, tick int64) int64 {
	ns := p.startNS + max(took, 0)
	t := max(floorDiv(ns, tick), p.start)
	if p.ordinal != s.ordinal && ns >= s.startNS {
		t = max(t, s.start+1)
	}
	s.endNS, s.end = max(s.endNS, ns), max(s.end, t)
	return t - p.start
}

// wait remembers that an event has no reply yet.
func (s *session) wait(p pending) {
	if s.answered == len(s.pending) {
		s.pending, s.answered = s.pending[:0], 0
	}
	s.pending = append(s.pending, p)
}

// answer takes the pending event of this ordinal. Replies come in order but for
// COPY data, so that it is mostly the first.
func (s *session) answer(ordinal uint64) (pending, bool) {
	live := s.pending[s.answered:]
	for i := range live {
		if live[i].ordinal != ordinal {
			continue
		}
		p := live[i]
		copy(live[1:i+1], live[:i])
		s.answered++
		s.compact()
		return p, true
	}
	return pending{}, false
}

// compact moves the pending events to the front once most of the slice is done
// with, so that a session that is never idle does not grow it.
func (s *session) compact() {
	if s.answered >= 64 && s.answered*2 >= len(s.pending) {
		n := copy(s.pending, s.pending[s.answered:])
		s.pending, s.answered = s.pending[:n], 0
	}
}

func (s *session) waiting() []pending { return s.pending[s.answered:] }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
