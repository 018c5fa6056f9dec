package replay

import (
	"errors"
	"os"

	"github.com/retrace-db/retrace/trace"
)

// guarded is how many bytes may be outstanding before writing and reading must
// go on at the same time: with less, the sockets' buffers hold what one side
// sends while the other is not reading.
const guarded = 32 << 10

// Reasons for a broken session.
const (
	reasonServerGone = "server_gone"
	reasonProtocol   = "protocol_error"
	reasonLost       = "session_lost"
	reasonUnconnect  = "no_connection"
	reasonCut        = "trace_ended"
)

// tell shows the conversation an event that is about to be written.
func (s *session) tell(ordinal uint64, b []byte, now int64) {
	if s.dead != "" {
		return
	}
	if err := s.talk.Send(ordinal, b, now); err != nil {
		s.lose(now, reasonProtocol)
	}
}

// transmit writes a request. Where the next thing to do is to wait for its
// reply, writing and reading are one step.
func (s *session) transmit(out []byte, outstanding bool) {
	s.unread += len(out)
	switch {
	case s.unread > guarded && (outstanding || len(s.batch) > 1):
		err := s.line.Duplex(out, s.in, s.grace.Load, func(b []byte, err error) bool {
			s.received(b, err)
			return s.dead == ""
		})
		s.wrote(err)
	case !outstanding && s.replyIsNext():
		n, err := s.line.Exchange(out, s.in, s.grace.Load())
		s.received(s.in[:n], err)
	default:
		s.write(out)
	}
}

// replyIsNext tells whether the next event waits for the reply to this one.
func (s *session) replyIsNext() bool {
	f := s.pending()
	if f == nil || s.copying != nil || s.p.phase() != running {
		return false
	}
	var next record
	have, err := s.queue.peek(&next)
	return err == nil && have == ready && next.kind == kindEvent && next.op != trace.OpCopy && next.settled > f.ordinal
}

func (s *session) write(out []byte) {
	if s.dead != "" {
		return
	}
	_, err := s.line.Write(out)
	s.wrote(err)
}

func (s *session) wrote(err error) {
	switch {
	case err == nil || s.dead != "":
	case s.expired():
		s.lose(s.p.clock.Now(), interrupted.String())
	default:
		s.lose(s.p.clock.Now(), reasonServerGone)
	}
}

// read waits for bytes of the server, for a poke, or until a time.
func (s *session) read(until int64) {
	if grace := s.grace.Load(); grace != 0 && (until == 0 || grace < until) {
		until = grace
	}
	n, err := s.line.Read(s.in, until)
	s.received(s.in[:n], err)
}

// received takes the outcome of a read.
func (s *session) received(b []byte, err error) {
	if len(b) > 0 {
		s.understand(b, s.p.clock.Now())
		if n := len(s.in); len(b) == n && n < maxRead {
			s.in = make([]byte, 4*n)
		}
	}
	switch {
	case err == nil || s.dead != "":
	case !errors.Is(err, os.ErrDeadlineExceeded):
		s.lose(s.p.clock.Now(), reasonServerGone)
	case s.expired():
		s.lose(s.p.clock.Now(), interrupted.String())
	}
}

// understand feeds the conversation, which calls Reply for what is complete.
func (s *session) understand(b []byte, now int64) {
	err := s.talk.Server(b, now)
	s.settle(false)
	if s.pending() == nil {
		s.free, s.unread = now, 0
	}
	if s.attempt.on && s.idle() {
		s.conclude()
	}
	s.release()
	if err != nil {
		s.lose(now, reasonProtocol)
	}
}

// expired tells whether the time to receive outstanding replies is over.
func (s *session) expired() bool {
	grace := s.grace.Load()
	return grace != 0 && s.p.clock.Now() >= grace
}

// await reads until the events with a smaller ordinal have their replies.
func (s *session) await(settled uint64) {
	for s.dead == "" {
		f := s.answerable()
		if f == nil || f.ordinal >= settled {
			return
		}
		if s.talk.CopyOpen() {
			s.endCopy()
		}
		s.read(0)
		s.free = s.p.clock.Now()
	}
}

// answerable is the first event whose reply will come by itself, or nil: the
// server keeps back what no Sync or Flush has asked for.
func (s *session) answerable() *flight {
	if f := s.pending(); f != nil && f.ordinal < s.unflushed {
		return f
	}
	return nil
}

// awaitDue waits for the time of a request, and reads meanwhile if something
// is outstanding. It tells whether the request is to be sent.
func (s *session) awaitDue(due int64) bool {
	for s.dead == "" && s.p.phase() == running {
		if due <= s.p.clock.Now() {
			return true
		}
		s.linger(due)
	}
	return false
}

// linger waits for a poke or a time, and reads meanwhile if something is
// outstanding.
func (s *session) linger(until int64) {
	if s.pending() != nil {
		s.read(until)
	} else {
		s.line.Pause(until)
	}
	s.tryAgain()
}

// landed waits for outstanding replies when nothing more is to be sent.
func (s *session) landed() {
	for s.dead == "" && s.answerable() != nil {
		switch {
		case !s.talk.CopyOpen():
			s.read(0)
		case s.p.phase() == running: // the trace ends within the data
			s.endCopy()
			s.read(0)
		default:
			s.lose(s.p.clock.Now(), s.p.phase().String())
		}
	}
}

// lose gives up the connection: what is outstanding is lost, what comes after
// it will not be sent.
func (s *session) lose(now int64, reason string) {
	if s.dead != "" {
		return
	}
	s.die(trace.Unsent, reasonLost)
	if s.p.phase() != running {
		s.dead = s.p.phase().String()
	} else {
		s.p.account.sessionLost()
	}
	s.losing = reason
	s.talk.Close(now, reason)
	for f := s.pending(); f != nil; f = s.pending() {
		f.ended(trace.Lost, reason, now)
		if f == s.copying {
			s.attach()
		}
	}
	s.settle(false)
	s.release()
}

// die closes the connection and says what becomes of the events to come.
func (s *session) die(status trace.Status, why string) {
	s.dead, s.status = why, status
	s.attempt = attempt{again: s.attempt.again}
	if s.connected {
		_ = s.line.Close()
	}
}
