package capture

import (
	"slices"

	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// life is a session as the encoder keeps it: what it takes to write its events,
// and to describe it to whoever reads only a later piece of the trace. Only the
// encoder touches it, but for id.
type life struct {
	id       uint64
	startup  *pg.Startup
	next     uint64 // ordinal of the next event
	policy   policy // of what cannot be written
	held     *row   // a request that may be written together with its reply
	late     []*row // what came after held and must be applied after it
	pending  []sent // written without a reply
	shapes   []byte // of pending
	named    map[string]*statement
	unnamed  statement
	byNumber map[uint64]*statement // named, by the ordinal that prepared them
}

// sent is an event that was written before its reply was known.
type sent struct {
	ordinal uint64
	start   int64
	guess   uint64 // what it executes, as the client's order has it
	ref     ref
	op      pg.Op
	parses  bool
	shape   []byte // only where the guess may prove wrong
}

// ref names a dictionary entry. Entries are void once the writer has begun
// another segment.
type ref struct {
	id         uint32
	generation int
	secret     bool // its SQL may hold a password: neither does a value of it go into the trace
}

// statement is a prepared statement that is alive.
type statement struct {
	ordinal uint64
	message []byte // nil where it may hold a secret or was too much to keep
	ref     ref
	live    bool
}

// state describes the session between two of its events.
func (l *life) state(now int64) trace.State {
	s := trace.State{Session: l.id, Ordinal: l.next, Start: now, Transaction: transaction(l.policy.state)}
	if l.startup != nil {
		s.Database, s.User, s.Settings = l.startup.Database, l.startup.User, l.startup.Settings
	}
	if l.unnamed.live {
		s.Statements = append(s.Statements, trace.Prepared{Message: l.unnamed.message, Ordinal: l.unnamed.ordinal})
	}
	for name, p := range l.named {
		s.Statements = append(s.Statements, trace.Prepared{Name: []byte(name), Message: p.message, Ordinal: p.ordinal})
	}
	slices.SortFunc(s.Statements, func(a, b trace.Prepared) int {
		if a.Ordinal != b.Ordinal {
			return int(min(max(int64(a.Ordinal-b.Ordinal), -1), 1))
		}
		return slices.Compare(a.Name, b.Name)
	})
	return s
}

func transaction(state byte) string {
	switch state {
	case 'T':
		return "open"
	case 'E':
		return "failed"
	}
	return "idle"
}

// find returns the statement that the event of that ordinal prepared.
func (l *life) find(ordinal uint64) *statement {
	if l.unnamed.live && l.unnamed.ordinal == ordinal {
		return &l.unnamed
	}
	return l.byNumber[ordinal]
}

// unanswered returns the event if its reply is still to come.
func (l *life) unanswered(ordinal uint64) *sent {
	for i := len(l.pending) - 1; i >= 0; i-- {
		if l.pending[i].ordinal == ordinal {
			return &l.pending[i]
		}
	}
	return nil
}

// answered takes the event off the list.
func (l *life) answered(ordinal uint64) (sent, bool) {
	i := slices.IndexFunc(l.pending, func(s sent) bool { return s.ordinal == ordinal })
	if i < 0 {
		return sent{}, false
	}
	s := l.pending[i]
	if l.pending = slices.Delete(l.pending, i, i+1); len(l.pending) == 0 {
		l.shapes = l.shapes[:0]
	}
	return s, true
}
