package main

import (
	"bytes"
	"strconv"

	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/internal/wire/pseudonym"
	"github.com/retrace-db/retrace/trace"
)

// redacting takes the values out of a trace of PostgreSQL.
type redacting struct {
	redactor *pg.Redactor
	where    whereFlag
	sessions map[uint64]*trace.State       // who they are, for the filter
	notes    map[*trace.Entry]*trace.Entry // in place of entries that are not to be kept
	spared   map[uint64]bool               // sessions whose latest statement was not meant
	number   []byte
	size     [1]uint64
}

func newRedacting(key *pseudonym.Key, where whereFlag) *redacting {
	return &redacting{redactor: pg.NewRedactor(key), where: where, sessions: map[uint64]*trace.State{}, spared: map[uint64]bool{}, notes: map[*trace.Entry]*trace.Entry{}}
}

// maxNotes bounds what is remembered of entries that nobody can read.
const maxNotes = 1024

// entry gives a note for an entry whose shape may hold values. A filter does not
// matter here: entries are of no one session.
func (r *redacting) entry(e *trace.Entry) *trace.Entry {
	opaque := isOpaque(e)
	if !opaque && (e.Prepare == nil || !isOpaque(e.Prepare)) {
		return e
	}
	if n := r.notes[e]; n != nil {
		return n
	}
	if len(r.notes) >= maxNotes {
		clear(r.notes)
	}
	n := *e
	if n.Prepare != nil && isOpaque(n.Prepare) {
		n.Prepare = nil
	}
	if opaque {
		n.Shape, n.Holes = pg.Note(""), 1
	}
	r.notes[e] = &n
	return &n
}

// isOpaque: notes themselves are of what was too large to keep, and have a hole.
func isOpaque(e *trace.Entry) bool {
	return pg.Opaque(pg.Op(e.Op), e.Shape) && !(e.Holes == 1 && bytes.HasSuffix(e.Shape, pg.Note("")[2:]))
}

func (r *redacting) event(e *trace.Event) {
	switch {
	case len(e.Entry.Shape) == 0 || e.OverLimit:
	case isOpaque(e.Entry):
		length, err := pg.Join(nil, e.Entry.Shape, e.Sizes, e.Values)
		r.note(e, len(length), err)
	case r.concerns(e):
		r.values(e)
	}
	if e.Entry.Op == trace.OpEnd {
		delete(r.sessions, e.Session)
		delete(r.spared, e.Session)
	}
}

// note leaves the length of an event, where that is known.
func (r *redacting) note(e *trace.Event, length int, err error) {
	if err != nil {
		length = 0
	}
	e.Entry, e.OverLimit = r.entry(e.Entry), true
	r.number = strconv.AppendInt(r.number[:0], int64(length), 10)
	r.size[0] = trace.SizeOf(len(r.number))
	e.Sizes, e.Values = r.size[:], r.number
}

func (r *redacting) values(e *trace.Event) {
	s := pg.Subject{
		Session: e.Session, Op: pg.Op(e.Entry.Op), SQL: e.Entry.SQL(), Types: e.Entry.Types,
		Shape: e.Entry.Shape, Sizes: e.Sizes, Values: e.Values,
	}
	if p := e.Entry.Prepare; len(s.Types) == 0 && p != nil {
		s.Types = p.Types
	}
	e.Sizes, e.Values, _ = r.redactor.Event(&s)
}

// concerns tells whether an event is meant: COPY data if their statement is. What
// only its reply tells, and that is not known yet, may be so.
func (r *redacting) concerns(e *trace.Event) bool {
	if r.where.Filter == nil {
		return true
	}
	if e.Entry.Op == trace.OpCopy {
		return !r.spared[e.Session]
	}
	is := !e.HasReply && r.where.NeedsReply() || r.where.Match(e, r.sessions[e.Session])
	if e.Entry.Op.Statement() && is {
		delete(r.spared, e.Session)
	} else if e.Entry.Op.Statement() {
		r.spared[e.Session] = true
	}
	return is
}

// state redacts what a session of which any event may be meant has accumulated.
func (r *redacting) state(s *trace.State) {
	if r.where.Filter != nil {
		if r.where.NeedsState() {
			r.sessions[s.Session] = &trace.State{Session: s.Session, Database: s.Database, User: s.User, Settings: s.Settings}
		}
		if none, _ := r.where.OfSession(s.Session, s); none {
			return
		}
	}
	redactState(r.redactor, s)
}

// redactState leaves what it is given untouched: others may hold it.
func redactState(redactor *pg.Redactor, s *trace.State) {
	statements := make([]trace.Prepared, len(s.Statements))
	for i, p := range s.Statements {
		if len(p.Message) > 0 {
			p.Message = redactor.Message(p.Message)
		}
		statements[i] = p
	}
	var pending []trace.Pending
	for _, p := range s.Pending {
		if p.Message = redactor.Message(p.Message); p.Message != nil {
			pending = append(pending, p)
		}
	}
	texts := func(all [][]byte) (kept [][]byte) {
		for _, t := range all {
			if t = redactor.Text(t); t != nil {
				kept = append(kept, t)
			}
		}
		return kept
	}
	s.Sets, s.Uncommitted, s.Pending = texts(s.Sets), texts(s.Uncommitted), pending
	if s.Statements != nil {
		s.Statements = statements
	}
}
