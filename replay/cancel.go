package replay

import (
	"context"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// aim is a cancel request on its way to an event of this session.
type aim struct {
	session uint64 // its own
	ordinal uint64 // of the event
	start   int64  // recorded
	due     int64  // 0 where there is no schedule
	entry   *trace.Entry
	done    chan struct{} // closed when the event has its outcome; nil until it is sent
}

// aim takes a cancel request from the queue, where it comes after the event it
// is aimed at.
func (s *session) aim(r *record) {
	a := aim{session: r.session, ordinal: r.ordinal, start: r.start, entry: r.entry}
	if s.p.pace.scheduled() {
		a.due = s.p.pace.due(s, r)
	}
	if f := s.airborne(a.ordinal); f != nil {
		s.aims = append(s.aims, s.fire(a, f))
		return
	}
	for i := range s.batch {
		if s.batch[i].ordinal == a.ordinal { // put together, not sent yet
			s.aims = append(s.aims, a)
			return
		}
	}
	s.p.notSent(a.session, a.entry, reasonTooLate)
}

// airborne is an event that is sent and not answered.
func (s *session) airborne(ordinal uint64) *flight {
	if f := s.copying; f != nil && f.ordinal == ordinal {
		return f
	}
	if f := s.ring.find(ordinal, s.ring.pendingFrom); f != nil && !f.done {
		return f
	}
	return nil
}

// release looks after the cancel requests: those whose event was sent are let
// go, those whose event is answered are called back.
func (s *session) release() {
	if len(s.aims) == 0 {
		return
	}
	kept := s.aims[:0]
	for _, a := range s.aims {
		f := s.airborne(a.ordinal)
		switch {
		case f != nil && a.done == nil:
			kept = append(kept, s.fire(a, f))
		case f != nil:
			kept = append(kept, a)
		case a.done != nil:
			close(a.done)
		default:
			s.p.notSent(a.session, a.entry, reasonTooLate)
		}
	}
	s.aims = kept
}

// abandonAims calls all cancel requests back.
func (s *session) abandonAims() {
	for _, a := range s.aims {
		if a.done != nil {
			close(a.done)
			continue
		}
		s.p.notSent(a.session, a.entry, reasonTooLate)
	}
	s.aims = nil
}

// fire starts the cancel request: it is sent when it is due, but never sooner
// after its event than it was recorded, and only while that runs.
func (s *session) fire(a aim, f *flight) aim {
	a.done = make(chan struct{})
	at := max(addClamped(f.sent, s.p.schedule.scaled(max(a.start-f.start, 0))), a.due)
	shoot := s.shoot
	s.p.sessions.Go(func() { s.p.cancel(a, at, shoot) })
	return a
}

// cancelTime bounds a cancel request.
const cancelTime = 10 * time.Second

// cancel sends a cancel request and counts it.
func (p *player) cancel(a aim, at int64, shoot func(context.Context) error) {
	ctx, stop := context.WithCancel(p.stopped)
	defer stop()
	go func() {
		select {
		case <-a.done:
			stop()
		case <-ctx.Done():
		}
	}()
	if p.clock.Wait(ctx, at) != nil {
		reason, status := reasonTooLate, trace.Skipped
		if p.phase() != running {
			reason, status = p.phase().String(), trace.Unsent
		}
		p.single(a.session, &flight{op: trace.OpCancel, entry: a.entry, due: a.due, sent: p.clock.Now(), status: status, reason: reason})
		return
	}
	f := flight{op: trace.OpCancel, entry: a.entry, due: a.due, sent: p.clock.Now(), last: true}
	limited, done := context.WithTimeout(p.stopped, cancelTime)
	defer done()
	err := shoot(limited)
	f.took = p.clock.Now() - f.sent
	if err != nil {
		f.status, f.reason = trace.Error, codeOf(err)
	}
	p.single(a.session, &f)
}

// notSent counts a cancel request that comes to nothing.
func (p *player) notSent(session uint64, entry *trace.Entry, reason string) {
	p.single(session, &flight{op: trace.OpCancel, entry: entry, sent: p.clock.Now(), status: trace.Skipped, reason: reason})
}

// single counts a session that is one event.
func (p *player) single(session uint64, f *flight) {
	f.done = true
	if p.forgets(session, 0) {
		return
	}
	p.account.single(session, f)
	if p.run == nil {
		return
	}
	st := p.account.of(session)
	st.mu.Lock()
	p.run.add(st, f.row(session, rowEvent))
	p.run.add(st, row{kind: rowEnd, session: session})
	st.mu.Unlock()
}
