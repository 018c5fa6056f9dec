package replay

import (
	"time"

	"github.com/retrace-db/retrace/trace"
)

// Here the source begins sessions and takes leave of them.

// endSlack is how long before its recorded end a session counts as ended, once
// it has had its last reply. A program that ends a session and begins the next
// has the two in this order; a recorder reads from two connections, and may see
// the beginning first.
const endSlack = int64(10 * time.Millisecond)

// session is the session of an event, which begins with it if it is new.
func (src *source) session(e *trace.Event) *session {
	if s := src.live[e.Session]; s != nil {
		return s
	}
	state := src.states[e.Session]
	delete(src.states, e.Session)
	s := src.begin(e.Session, state, e.Start)
	if e.Entry.Op != trace.OpConnect {
		if state == nil {
			src.unknownFrom++
			s.beginsUnknown(e)
		}
		s.heard = src.opensAt(e)
	}
	if src.p.gate == nil {
		src.p.begin(s)
	} else {
		src.p.gate.add(mark{at: e.Start, session: s})
	}
	return s
}

// opensAt is when a session connects that has no login in the trace: 0 for at
// once. In a later loop, the sessions of the one before shall have ended first.
func (src *source) opensAt(e *trace.Event) int64 {
	if src.feed.loop == 0 || src.merge != nil || !src.p.pace.scheduled() {
		return 0
	}
	return src.p.schedule.due(e.Start) - int64(loginAhead)
}

// loginAhead is how long before its first request such a session connects.
const loginAhead = 200 * time.Millisecond

// open begins the sessions that were open when the recording began.
func (src *source) open() []*session {
	var all []*session
	for id, state := range src.states {
		if state.Ordinal > 0 {
			all = append(all, src.begin(id, state, src.first))
		}
	}
	for _, s := range all {
		delete(src.states, s.id)
	}
	return all
}

// begin is a session that begins at a recorded time.
func (src *source) begin(id uint64, state *trace.State, at int64) *session {
	s := newSession(src.p, id, state)
	s.lastStart, s.loop = at, src.feed.loop
	s.begins()
	s.omission.session = src.selection.session(src.feed.origin(id), state)
	src.live[id] = s
	src.sessions++
	return s
}

// sessionEnds takes leave of a session that is read to its end.
func (src *source) sessionEnds(s *session, at int64) {
	delete(src.live, s.id)
	if src.p.gate != nil {
		src.p.gate.add(mark{at: max(s.lastEnd, at-endSlack), isEnd: true, end: at, session: s})
	}
	if src.merge != nil {
		src.merge.add(s, moment{}, nil, src.entries.epoch)
		return
	}
	s.queue.close()
}
