package trace

import "maps"

// EachWithState is Each with whose session an event is: database, user and
// settings as at connect, and nothing else of the state. It is nil where no
// state was read. The state is valid during the call only.
func (r *Reader) EachWithState(fn func(*Event, *State) error) error {
	w := whose{sessions: map[uint64]*State{}}
	return r.each(func(e *Event) error {
		s := w.of(e.Session)
		err := fn(e, s)
		if op := e.Entry.Op; op == OpEnd || op == OpCancel {
			w.forget(e.Session)
		}
		return err
	}, w.learn)
}

// whose knows the live sessions.
type whose struct {
	sessions map[uint64]*State
	last     *State // of the event before: blocks hold a session's events together
	lastID   uint64
	asked    bool
}

func (w *whose) of(session uint64) *State {
	if !w.asked || w.lastID != session {
		w.last, w.lastID, w.asked = w.sessions[session], session, true
	}
	return w.last
}

// learn takes the states of a block. Those of a live session come again with
// each segment.
func (w *whose) learn(states []State) {
	for i := range states {
		s := &states[i]
		if w.sessions[s.Session] != nil {
			continue
		}
		w.sessions[s.Session] = &State{
			Session: s.Session, Start: s.Start, Database: s.Database, User: s.User, Settings: maps.Clone(s.Settings),
		}
		w.asked = false
	}
}

func (w *whose) forget(session uint64) {
	delete(w.sessions, session)
	w.asked = false
}
