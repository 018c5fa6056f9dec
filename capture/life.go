package capture

import (
	"cmp"
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
	begun    int64    // when it connected
	left     bool     // it is left out for now
	omitted  omitted  // statements of it
	next     uint64   // ordinal of the next event
	policy   policy   // of what cannot be written
	held     *row     // a request that may be written together with its reply
	late     []*row   // what came after held and must be applied after it
	over     bool     // its end was written
	changed  bool     // what it has accumulated, since its last event that was written
	pending  pendings // written without a reply
	named    map[string]*statement
	unnamed  statement
	byNumber map[uint64]*statement // named, by the ordinal that prepared them
	sets     [][]byte              // SET statements in force
	openSets [][]byte              // the same of the transaction under way
}

// sent is an event that was written before its reply was known.
type sent struct {
	ordinal  uint64
	start    int64
	guess    uint64 // what it executes, as the client's order has it
	ref      ref
	op       pg.Op
	answered bool
	shape    []byte // only where the guess may prove wrong
	message  []byte // only where it may change what the session has accumulated
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
func (l *life) state() trace.State {
	s := trace.State{Session: l.id, Ordinal: l.next, Start: l.begun, Transaction: transaction(l.policy.state)}
	if l.startup != nil {
		s.Database, s.User, s.Settings = l.startup.Database, l.startup.User, l.startup.Settings
	}
	s.Sets, s.Uncommitted = l.sets, l.openSets
	if l.unnamed.live {
		s.Statements = append(s.Statements, trace.Prepared{Message: l.unnamed.message, Ordinal: l.unnamed.ordinal})
	}
	l.pending.each(func(p *sent) {
		if p.message != nil {
			s.Pending = append(s.Pending, trace.Pending{Ordinal: p.ordinal, Message: p.message})
		}
	})
	for name, p := range l.named {
		s.Statements = append(s.Statements, trace.Prepared{Name: []byte(name), Message: p.message, Ordinal: p.ordinal})
	}
	slices.SortFunc(s.Statements, func(a, b trace.Prepared) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), slices.Compare(a.Name, b.Name))
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

// pendings are the events without a reply, by rising ordinal. Replies come in
// that order but for COPY data, which has its own at once.
type pendings struct {
	all    []sent
	head   int // all before it are answered
	shapes []byte
}

// keepPending bounds what is held on to after a long pipeline.
const keepPending = 1024

// add remembers an event that was written without its reply.
func (p *pendings) add(s sent, shape []byte) {
	if s.guess != pg.NoPrepare {
		at := len(p.shapes)
		p.shapes = append(p.shapes, shape...)
		s.shape = p.shapes[at:len(p.shapes):len(p.shapes)]
	}
	p.all = append(p.all, s)
}

// find returns the event if its reply is still to come.
func (p *pendings) find(ordinal uint64) *sent {
	live := p.all[p.head:]
	i, ok := slices.BinarySearchFunc(live, ordinal, func(s sent, o uint64) int { return cmp.Compare(s.ordinal, o) })
	if !ok || live[i].answered {
		return nil
	}
	return &live[i]
}

// take returns the event and forgets it.
func (p *pendings) take(ordinal uint64) (sent, bool) {
	found := p.find(ordinal)
	if found == nil {
		return sent{}, false
	}
	s := *found
	found.answered = true
	for p.head < len(p.all) && p.all[p.head].answered {
		p.head++
	}
	switch {
	case p.head == len(p.all):
		p.head, p.all, p.shapes = 0, p.all[:0], p.shapes[:0]
		if cap(p.all) > keepPending {
			p.all, p.shapes = nil, nil
		}
	case p.head > keepPending && p.head > len(p.all)/2:
		p.all = append(p.all[:0], p.all[p.head:]...)
		p.head = 0
	}
	return s, true
}

// each goes through those that have no reply.
func (p *pendings) each(do func(*sent)) {
	for i := range p.all[p.head:] {
		if s := &p.all[p.head+i]; !s.answered {
			do(s)
		}
	}
}
