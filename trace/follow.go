package trace

import (
	"cmp"
	"slices"
)

// Follower knows a protocol, which this package does not: what events do to
// what their session has accumulated.
type Follower interface {
	// Follow keeps the state of a session from s on.
	Follow(s *State) Followed
}

// Followed is a session being followed. Events come in order, with or without
// their replies, and late replies after them.
type Followed interface {
	Event(e *Event)
	Late(l *Late)
	// State sets what the session has accumulated: sets, statements, and what
	// is pending.
	State(s *State)
}

// sessions are the live sessions of a trace at a point in it.
type sessions struct {
	follower Follower // nil: states stay as they were recorded
	live     map[uint64]*follow
	begun    bool // events were seen
}

// follow is a session at its state.
type follow struct {
	State
	known bool // its state is, not only its number
	inner Followed
	later *State // holds once the events before it have come
}

func newSessions(f Follower) *sessions {
	return &sessions{follower: f, live: map[uint64]*follow{}}
}

// take follows what a block says of the time before end.
func (t *sessions) take(b *Batch, end int64) {
	for i := range b.States {
		if s := &b.States[i]; ticked(s.Start, b.Header) < end {
			t.state(s)
		}
	}
	for i := range b.Gaps {
		t.gap(&b.Gaps[i])
	}
	for i := range b.Late {
		t.late(&b.Late[i])
	}
	for i := range b.Events {
		if e := &b.Events[i]; e.Start < end {
			t.event(e)
		}
	}
}

// ticked is a time as an event of it would stand in the trace.
func ticked(ns int64, h *Header) int64 { return floorDiv(ns, h.TickNS) * h.TickNS }

func (t *sessions) session(id uint64) *follow {
	f := t.live[id]
	if f == nil {
		f = &follow{State: State{Session: id, Transaction: "idle"}}
		t.live[id] = f
	}
	return f
}

// state takes a state record, which stands before the events that rest on it
// and perhaps before others.
func (t *sessions) state(s *State) {
	f := t.session(s.Session)
	switch {
	case s.Ordinal == 0 || !t.begun || f.known && s.Ordinal <= f.Ordinal:
		t.set(f, s)
	default:
		c := *s
		f.later = &c
	}
}

func (t *sessions) set(f *follow, s *State) {
	next := max(f.Ordinal, s.Ordinal)
	f.State, f.known, f.later, f.inner = *s, true, nil, nil
	f.Ordinal = next
	if t.follower != nil {
		f.inner = t.follower.Follow(s)
	}
}

// reach moves a session on to an ordinal.
func (t *sessions) reach(f *follow, ordinal uint64) {
	if f.later != nil && f.later.Ordinal <= ordinal {
		t.set(f, f.later)
	}
	f.Ordinal = max(f.Ordinal, ordinal)
}

func (t *sessions) gap(g *Gap) {
	if f := t.live[g.Session]; f != nil && g.First <= f.Ordinal && g.Last >= f.Ordinal {
		t.reach(f, g.Last+1)
	}
}

func (t *sessions) event(e *Event) {
	t.begun = true
	if e.Entry.Op == OpEnd || e.Entry.Op == OpCancel {
		delete(t.live, e.Session)
		return
	}
	f := t.session(e.Session)
	if e.Ordinal < f.Ordinal {
		return // its state has it already
	}
	t.reach(f, e.Ordinal)
	f.Ordinal = e.Ordinal + 1
	if f.inner != nil {
		f.inner.Event(e)
	}
	if e.HasReply {
		f.became(e.State)
	}
}

func (t *sessions) late(l *Late) {
	f := t.live[l.Session]
	if f == nil || l.Ordinal >= f.Ordinal {
		return
	}
	if f.inner != nil {
		f.inner.Late(l)
	}
	f.became(l.State)
}

// became keeps the transaction state.
func (f *follow) became(state byte) {
	switch state {
	case 'I':
		f.Transaction = "idle"
	case 'T':
		f.Transaction = "open"
	case 'E':
		f.Transaction = "failed"
	}
}

// states are those of all live sessions that are known.
func (t *sessions) states() []State {
	var all []State
	for _, f := range t.live {
		if f.known {
			all = append(all, f.now())
		}
	}
	slices.SortFunc(all, func(a, b State) int { return cmp.Compare(a.Session, b.Session) })
	return all
}

func (f *follow) now() State {
	s := f.State
	if f.inner != nil {
		f.inner.State(&s)
	}
	return s
}
