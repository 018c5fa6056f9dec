package filter

import "github.com/retrace-db/retrace/trace"

// OfSession tells what the words about sessions alone (db, user, app, session)
// say of a session: that none of its events can match, or that all do. s is its
// state, nil if that is not known.
func (f *Filter) OfSession(id uint64, s *trace.State) (none, all bool) {
	if f == nil {
		return false, true
	}
	all = true
	e := trace.Event{Session: id}
	for i := range f.words {
		w := &f.words[i]
		switch {
		case w.key.ofState == nil && w.key.name != "session":
			all = false
		case w.ofEvent(&e, s) == w.negated:
			return true, false
		}
	}
	return false, all
}
