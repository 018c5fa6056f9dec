package main

import (
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// follower keeps states up to date for traces of PostgreSQL, where a part of a
// trace begins in the middle of sessions.
type follower struct{}

func (follower) Follow(s *trace.State) trace.Followed {
	var statements []pg.Kept
	for _, p := range s.Statements {
		statements = append(statements, pg.Kept{Name: p.Name, Message: p.Message, Ordinal: p.Ordinal})
	}
	var pending []pg.Asked
	for _, p := range s.Pending {
		pending = append(pending, pg.Asked{Ordinal: p.Ordinal, Bytes: p.Message})
	}
	return &followed{memory: pg.NewMemory(statements, s.Sets, s.Uncommitted, pending)}
}

type followed struct {
	memory *pg.Memory
	bytes  []byte
}

// Event passes over what has no bytes that can be sent.
func (f *followed) Event(e *trace.Event) {
	if e.OverLimit || e.Entry.Op == trace.OpCopy || len(e.Entry.Shape) == 0 {
		return
	}
	b, err := pg.Join(f.bytes[:0], e.Entry.Shape, e.Sizes, e.Values)
	if f.bytes = b; err != nil {
		return // redacted
	}
	if e.HasReply {
		f.memory.Apply(e.Ordinal, b, ended(&e.Reply))
	} else {
		f.memory.Ask(e.Ordinal, b)
	}
}

func (f *followed) Late(l *trace.Late) { f.memory.Answer(l.Ordinal, ended(&l.Reply)) }

func (f *followed) State(s *trace.State) {
	s.Statements, s.Pending = nil, nil
	for _, k := range f.memory.Statements() {
		s.Statements = append(s.Statements, trace.Prepared{Name: k.Name, Message: k.Message, Ordinal: k.Ordinal})
	}
	for _, a := range f.memory.Pending() {
		s.Pending = append(s.Pending, trace.Pending{Ordinal: a.Ordinal, Message: a.Bytes})
	}
	s.Sets, s.Uncommitted = f.memory.Sets()
}

func ended(r *trace.Reply) pg.Ended {
	e := pg.Ended{Outcome: pg.Lost, Reason: r.Reason, Results: r.Results, State: r.State}
	switch r.Status {
	case trace.OK:
		e.Outcome = pg.OK
	case trace.Error:
		e.Outcome = pg.Failed
	case trace.Skipped:
		e.Outcome = pg.Skipped
	}
	return e
}
