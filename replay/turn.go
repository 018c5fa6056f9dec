package replay

import "time"

// gates counts the events of the request before which transactions of other
// sessions are waited for.
func (s *session) gates() (n int) {
	for i := range s.batch {
		if s.batch[i].flags&flagGate != 0 {
			n++
		}
	}
	return n
}

// awaitTurn waits for the transactions that had committed when the request was
// sent in the recording, or until the limit. It tells whether the request is to
// be sent. The wait is none of our own lateness.
func (s *session) awaitTurn() bool {
	o, n := s.p.order, s.gates()
	if n == 0 {
		return true
	}
	needs, known := o.take(&s.turn, n)
	for !known {
		s.linger(0)
		if s.dead != "" || s.p.phase() != running {
			return false
		}
		needs, known = o.take(&s.turn, n)
	}
	for i := range s.batch {
		s.batch[i].flags &^= flagGate
	}
	return s.awaitCommits(needs)
}

func (s *session) awaitCommits(needs int) bool {
	o := s.p.order
	from := s.p.clock.Now()
	until := addClamped(from, int64(o.limit))
	waited := false
	for !o.may(&s.turn, needs) {
		waited = true
		if s.p.clock.Now() >= until {
			o.giveUp(&s.turn, needs)
			break
		}
		s.linger(until)
		if s.dead != "" || s.p.phase() != running {
			o.withdraw(&s.turn)
			return false
		}
	}
	kept := o.kept(needs)
	if waited || !kept {
		s.free = s.p.clock.Now()
		s.p.account.ordered(s.id, time.Duration(s.free-from), kept)
	}
	return true
}
