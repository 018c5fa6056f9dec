package filter

import (
	"strings"

	"github.com/retrace-db/retrace/internal/fingerprint"
	"github.com/retrace-db/retrace/trace"
)

// subject is what words about the SQL look at: an entry, and what was found
// out about it so far. Texts are in lower case.
type subject struct {
	entry *trace.Entry

	ops, named []string
	lower, id  *string
}

// operations are the kind of the event and, for statements, their verbs.
func (s *subject) operations() []string {
	if s.ops != nil || s.entry == nil {
		return s.ops
	}
	op := s.entry.Op
	s.ops = append(s.ops, op.String())
	if op.Statement() {
		s.ops = append(s.ops, "statement")
	}
	if op.Statement() || op == trace.OpFetch {
		s.ops = append(s.ops, fingerprint.Verbs(s.entry.SQL())...)
	}
	return s.ops
}

// tables are the tables the SQL names; one with a schema comes without it too.
func (s *subject) tables() []string {
	if s.named != nil || s.sql() == "" {
		return s.named
	}
	s.named = []string{}
	for _, t := range fingerprint.Tables(s.sql()) {
		t = strings.ToLower(t)
		s.named = append(s.named, t)
		if i := strings.LastIndexByte(t, '.'); i >= 0 {
			s.named = append(s.named, t[i+1:])
		}
	}
	return s.named
}

func (s *subject) text() string {
	if s.lower == nil {
		s.lower = new(strings.ToLower(s.sql()))
	}
	return *s.lower
}

// fingerprint is "" for events that have no SQL and are no statements.
func (s *subject) fingerprint() string {
	if s.id == nil {
		s.id = new("")
		if s.sql() != "" || s.entry != nil && s.entry.Op.Statement() {
			*s.id = fingerprint.ID(fingerprint.Text(s.sql()))
		}
	}
	return *s.id
}

func (s *subject) sql() string {
	if s.entry == nil {
		return ""
	}
	return s.entry.SQL()
}
