package replay

import (
	"errors"
	"os"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// terminate ends the session as it was recorded: with a Terminate message, or
// without a word.
func (s *session) terminate(r *record) {
	s.stage(r)
	defer s.unstage()
	if r.end == endServer && s.dead == "" {
		s.await(r.ordinal) // the server ended it then; now it has not
	}
	s.await(r.settled)
	s.tryAgain()
	due := s.p.pace.due(s, r)
	if r.flags&flagSkip == 0 && !s.awaitDue(due) || s.dead != "" {
		s.leave(due)
		return
	}
	s.ensure()
	if s.dead != "" {
		s.leave(due)
		return
	}
	now := s.p.clock.Now()
	f := s.board(&s.batch[0], due)
	f.sent = now
	if len(r.bytes) > 0 {
		s.tell(r.ordinal, s.bytesOf(&s.batch[0]), now)
		s.write(s.bytesOf(&s.batch[0]))
	}
	if !f.done {
		f.ended(trace.OK, "", now)
	}
	if r.end != endNone {
		f.reason = r.end.String()
	} else if s.p.gate != nil {
		s.awaitClose()
	}
	s.hangUp(now, f.reason)
}

// closeTime bounds the wait for the server to take leave.
const closeTime = time.Second

// awaitClose waits until the server has closed the connection, which it does
// once the session has given up its slot: the next session may
// begin at once, and the server may have no slot to spare.
func (s *session) awaitClose() {
	if s.dead != "" || s.pending() != nil {
		return
	}
	until := s.p.clock.Now() + int64(closeTime)
	for {
		_, err := s.line.Read(s.in, until)
		if err != nil && !(errors.Is(err, os.ErrDeadlineExceeded) && s.p.clock.Now() < until) {
			return
		}
	}
}

// hangUp closes the connection. What is outstanding was so in the recording.
func (s *session) hangUp(now int64, why string) {
	if why == "" {
		why = endClient.String()
	}
	s.talk.Close(now, why)
	for f := s.pending(); f != nil; f = s.pending() {
		f.ended(trace.Lost, why, now)
		if f == s.copying {
			s.attach()
		}
	}
	s.die(trace.Unsent, reasonLost)
	s.settle(false)
}

// finish takes leave of a session whose last record is consumed.
func (s *session) finish() {
	if s.talk != nil && s.dead == "" { // the trace ends before the session
		s.landed()
		s.tryAgain()
		s.leaveOpen()
	}
	s.settle(true)
	s.abandonAims()
	s.p.over(s)
}

// leaveOpen ends a session that the recording left open: with a Terminate, so
// that the server rolls back at once what was not committed.
func (s *session) leaveOpen() {
	if s.dead != "" {
		return
	}
	now := s.p.clock.Now()
	s.tell(ownOrdinal, terminateMessage, now)
	s.write(terminateMessage)
	if s.dead == "" {
		s.die(trace.Unsent, reasonLost)
	}
}
