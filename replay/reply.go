package replay

import (
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// listener is what a session's conversation reports to.
type listener struct{ s *session }

// Reply gives an event its outcome.
func (l listener) Reply(r *pg.Reply) {
	s := l.s
	if s.losing != "" && r.Outcome == pg.Lost {
		r.Reason = s.losing
	}
	s.heard = max(s.heard, r.Done)
	if f := s.copying; f != nil && f.ordinal == r.Ordinal {
		f.answered(r)
		s.attach()
		return
	}
	f := s.ring.find(r.Ordinal, s.ring.pendingFrom)
	if f == nil || f.done { // of replay's own
		return
	}
	f.answered(r)
	s.failure(f)
	if f.parse != nil && f.status != trace.OK {
		s.prepared.failed(f)
	}
}

// Prepared notes that the server accepted a Parse.
func (l listener) Prepared(name []byte, ordinal uint64, _ []byte) {
	l.s.prepared.accepted(name)
	if f := l.s.ring.find(ordinal, l.s.ring.pendingFrom); f != nil {
		f.parse = nil
	}
}

// Started, Request, Deallocated, Sets and Setting are of no use here.
func (listener) Started(pg.Startup)     {}
func (listener) Request(*pg.Request)    {}
func (listener) Deallocated([]byte)     {}
func (listener) Sets(_, _ [][]byte)     {}
func (listener) Setting(string, string) {}
