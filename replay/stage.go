package replay

import (
	"github.com/retrace-db/retrace/trace"
)

// staged is an event of the request being put together.
type staged struct {
	record
	from, to int    // its bytes in session.out
	skip     string // why it is not sent
}

// stage adds an event to the request.
func (s *session) stage(r *record) {
	from := len(s.out)
	s.out = append(s.out, r.bytes...)
	s.batch = append(s.batch, staged{record: *r, from: from, to: len(s.out)})
	s.batch[len(s.batch)-1].bytes = nil
}

// message bytes of a staged event.
func (s *session) bytesOf(b *staged) []byte { return s.out[b.from:b.to] }

// unstage empties the request.
func (s *session) unstage() {
	clear(s.batch)
	s.batch = s.batch[:0]
	s.out = s.out[:0]
	if cap(s.out) > maxRead {
		s.out = nil
	}
}

// flush sends the request when its time has come: when the replies are there
// that its client had, and when it is due.
func (s *session) flush() {
	if len(s.batch) == 0 {
		return
	}
	defer s.unstage()
	s.ensure()
	first, last := &s.batch[0], &s.batch[len(s.batch)-1]
	if first.op == trace.OpCopy {
		s.awaitCopyIn()
	}
	s.await(last.settled)
	s.tryAgain()
	due := s.p.pace.due(s, &first.record)
	if !s.awaitDue(due) || !s.awaitTurn() {
		s.leave(due)
		return
	}
	s.tryAgain()
	s.keep(due)
	s.decide()
	s.send(due)
}

// leave gives every event of the request the outcome that nothing is sent.
func (s *session) leave(due int64) {
	s.landed()
	if n := s.gates(); n > 0 {
		s.p.order.skip(&s.turn, n)
	}
	status, reason := s.status, s.dead
	if s.dead == "" {
		status, reason = trace.Unsent, s.p.phase().String()
	}
	now := s.p.clock.Now()
	for i := range s.batch {
		f := s.board(&s.batch[i], due)
		if end := s.batch[i].end; end.omits() {
			f.ended(trace.Filtered, end.String(), now)
		} else {
			f.ended(status, reason, now)
		}
		f.leads = false // there was no sending to be late with
	}
	s.settle(false)
}

// board makes a flight of a staged event.
func (s *session) board(b *staged, due int64) *flight {
	if s.attempt.again {
		if f := s.reboard(b.ordinal); f != nil {
			return f
		}
	}
	f := s.ring.push()
	f.ordinal, f.op, f.entry, f.start, f.due, f.free = b.ordinal, b.op, b.entry, b.start, due, s.free
	f.last = b.flags&flagRequestEnd != 0
	f.leads = b == &s.batch[0]
	if b.flags&flagReplied != 0 {
		f.recorded(&b.record)
	}
	return f
}

// send writes the events of the request that are not to be skipped.
func (s *session) send(due int64) {
	outstanding := s.pending() != nil
	now := s.p.clock.Now()
	s.sent, s.waited = now, s.batch[len(s.batch)-1].settled
	switch {
	case s.batch[len(s.batch)-1].flags&flagRequestEnd != 0:
		s.unflushed = noOrdinal
	case s.unflushed == noOrdinal:
		s.unflushed = s.batch[0].ordinal
	}
	out := s.launch(due, now)
	s.settle(false)
	if len(out) > 0 && s.dead == "" {
		s.transmit(out, outstanding)
	}
	s.release()
}

// launch makes flights of the request's events, tells the conversation what is
// sent, and returns the bytes to write. That is nearly always the request as it
// is; otherwise they are put together anew.
func (s *session) launch(due, now int64) []byte {
	out, whole := s.prelude(now), true
	if s.batch[0].op == trace.OpCopy && s.batch[0].skip == "" {
		s.detach()
	}
	leads := true
	for i := range s.batch {
		b := &s.batch[i]
		f := s.board(b, due)
		bytes := s.bytesOf(b)
		if b.skip != "" || s.dead != "" {
			if whole {
				out, whole = append(out, s.out[:b.from]...), false
			}
			out = s.pass(f, b, out, now)
			continue
		}
		f.leads, leads = leads, false
		f.sent = now
		f.parse = watch(b.op, bytes)
		s.tell(b.ordinal, bytes, now)
		s.unsynced = s.leavesUnsynced(b.op, bytes)
		if !whole || len(out) > 0 {
			out, whole = append(out, bytes...), false
		}
	}
	if whole && len(out) == 0 {
		return s.out
	}
	return s.askFor(out, now)
}

// askFor asks for the replies of what is sent, if the event that would have
// done so is skipped and held no Sync.
func (s *session) askFor(out []byte, now int64) []byte {
	last := &s.batch[len(s.batch)-1]
	if last.skip == "" || !s.unsynced || len(out) == 0 || s.dead != "" {
		return out
	}
	s.tell(ownOrdinal, flushMessage, now)
	return append(out, flushMessage...)
}

// pass gives an event that is not sent its outcome. If it held the Sync that
// the server waits for, that is sent by itself.
func (s *session) pass(f *flight, b *staged, out []byte, now int64) []byte {
	f.leads = false
	if s.dead != "" {
		f.ended(s.status, s.dead, now)
		return out
	}
	f.ended(b.end.unsendable(), b.skip, now)
	bytes := s.bytesOf(b)
	s.prepared.passed(bytes)
	if s.unsynced && lastType(bytes) == 'S' {
		s.unsynced = false
		s.tell(ownOrdinal, syncMessage, now)
		out = append(out, syncMessage...)
	}
	return out
}

// leavesUnsynced tells whether after this event the server, had there been an
// error, would discard everything up to a Sync.
func (s *session) leavesUnsynced(op trace.Op, bytes []byte) bool {
	switch op {
	case trace.OpQuery:
		return false
	case trace.OpCopy:
		// The Sync before the data does not count: the server ignores it.
		extended := s.copying != nil && s.copying.op != trace.OpQuery
		return extended && lastType(bytes) != 'S'
	}
	return lastType(bytes) != 'S'
}
