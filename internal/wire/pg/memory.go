package pg

import (
	"cmp"
	"slices"
	"strings"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
)

// Memory is what a session has accumulated: prepared statements and settings.
// It follows whole events and how they ended, as a recording has them, where a
// Conversation follows the bytes. What it cannot know it takes for done: a Parse
// whose Execute failed for a reason of its own.
type Memory struct {
	named    map[string]*Kept
	unnamed  *Kept
	settings settings
	pending  []Asked
	state    byte
}

// Kept is a prepared statement.
type Kept struct {
	Name, Message []byte
	Ordinal       uint64
}

// Asked is an event whose reply is not known yet.
type Asked struct {
	Ordinal uint64
	Bytes   []byte
}

// Ended is how an event ended.
type Ended struct {
	Outcome Outcome
	Reason  string
	Results uint32
	State   byte
}

// maxAsked bounds the bytes of events whose replies are awaited.
const maxAsked = 1 << 20

// NewMemory begins with what a session has: its statements, the SETs in force,
// those of the transaction that is open, and what is not answered.
func NewMemory(statements []Kept, sets, open [][]byte, pending []Asked) *Memory {
	m := &Memory{named: map[string]*Kept{}, pending: slices.Clone(pending), state: 'I'}
	for _, s := range statements {
		m.prepare(s)
	}
	for _, text := range sets {
		m.set(text)
	}
	m.settings.commit()
	for _, text := range open {
		m.set(text)
	}
	return m
}

func (m *Memory) set(text []byte) {
	if c := changeOf(text); c != nil {
		m.settings.add(c)
	}
}

func (m *Memory) prepare(s Kept) {
	if len(s.Name) == 0 {
		m.unnamed = &s
	} else if len(m.named) < maxNames {
		m.named[string(s.Name)] = &s
	}
}

// matters tells whether an event may change what its session has accumulated.
func (m *Memory) matters(b []byte) bool {
	for len(b) > 0 {
		typ, msg, rest, err := cut(b)
		if err != nil {
			return false
		}
		body := msg[headerLen:]
		switch typ {
		case 'P', 'C':
			return true
		case 'Q':
			sql, _, _ := cstring(body)
			return m.unnamed != nil || len(effectsOf(sql)) > 0
		case 'B':
			_, after, _ := cstring(body)
			name, _, _ := cstring(after)
			if s := m.find(name); s != nil && len(effectsOf(s.sql())) > 0 {
				return true
			}
		case 'S':
			return len(m.settings.open) > 0
		}
		b = rest
	}
	return false
}

// sql is its text; nil if it was made by PREPARE, or not kept.
func (k *Kept) sql() []byte {
	if len(k.Message) == 0 || k.Message[0] != 'P' {
		return nil
	}
	_, rest, _ := cstring(k.Message[headerLen:])
	sql, _, _ := cstring(rest)
	return sql
}

// Ask takes an event without its reply.
func (m *Memory) Ask(ordinal uint64, b []byte) {
	size := len(b)
	for i := range m.pending {
		size += len(m.pending[i].Bytes)
	}
	if size <= maxAsked && m.matters(b) {
		m.pending = append(m.pending, Asked{ordinal, slices.Clone(b)})
	}
}

// Answer takes the reply of an event that was asked before.
func (m *Memory) Answer(ordinal uint64, e Ended) {
	for i := range m.pending {
		if m.pending[i].Ordinal == ordinal {
			b := m.pending[i].Bytes
			m.pending = slices.Delete(m.pending, i, i+1)
			m.Apply(ordinal, b, e)
			return
		}
	}
}

// Apply takes an event with its reply.
func (m *Memory) Apply(ordinal uint64, b []byte, e Ended) {
	if e.Outcome == Lost {
		return
	}
	if e.Outcome == Failed && e.Reason != "rolled_back" {
		m.settings.failed = true
	}
	var bound *Kept
	for len(b) > 0 {
		typ, msg, rest, err := cut(b)
		if err != nil {
			return
		}
		body := msg[headerLen:]
		if e.Outcome != Skipped {
			switch typ {
			case 'P':
				m.parse(ordinal, msg, e)
			case 'Q':
				m.unnamed = nil
				sql, _, _ := cstring(body)
				m.run(ordinal, sql, e)
			case 'B':
				_, after, _ := cstring(body)
				name, _, _ := cstring(after)
				bound = m.find(name)
			case 'E':
				m.execute(ordinal, bound, e)
			case 'C':
				if len(body) > 0 && body[0] == 'S' && e.Outcome == OK {
					name, _, _ := cstring(body[1:])
					m.forget(string(key(name)))
				}
			}
		}
		if typ == 'S' || typ == 'Q' {
			m.ready(e)
		}
		b = rest
	}
}

func (m *Memory) ready(e Ended) {
	if e.State != 0 {
		m.state = e.State
	}
	m.settings.ready(m.state)
}

func (m *Memory) find(name []byte) *Kept {
	if len(name) == 0 {
		return m.unnamed
	}
	return m.named[string(key(name))]
}

func (m *Memory) forget(name string) {
	if name == "" {
		m.unnamed = nil
		return
	}
	delete(m.named, name)
}

// parse takes a Parse, which may be what failed.
func (m *Memory) parse(ordinal uint64, msg []byte, e Ended) {
	name, _, _ := cstring(msg[headerLen:])
	name = key(name)
	if e.Outcome == Failed && refused(e.Reason) {
		if had := m.find(name); len(name) == 0 && (had == nil || had.Ordinal != ordinal) {
			m.unnamed = nil
		}
		return
	}
	m.prepare(Kept{slices.Clone(name), slices.Clone(msg), ordinal})
}

// refused tells the errors of a Parse from those of what comes after it: syntax
// and names, a failed transaction, a feature that is not supported.
func refused(code string) bool {
	return strings.HasPrefix(code, "42") || code == "25P02" || strings.HasPrefix(code, "0A")
}

// execute takes an Execute of what was bound in the same event.
func (m *Memory) execute(ordinal uint64, bound *Kept, e Ended) {
	if bound != nil && e.Outcome == OK {
		m.run(ordinal, bound.sql(), e)
	}
}

// run takes the statements of a text, as far as they were completed.
func (m *Memory) run(ordinal uint64, sql []byte, e Ended) {
	for _, f := range effectsOf(sql) {
		if e.Outcome == Failed && f.at >= int(e.Results) && e.Reason != "rolled_back" {
			break
		}
		m.affect(ordinal, &f, e)
	}
}

func (m *Memory) affect(ordinal uint64, f *effect, e Ended) {
	s := &m.settings
	switch f.kind {
	case sqltext.Commit, sqltext.Rollback, sqltext.Savepoint, sqltext.Release:
		s.follow(f, f.kind == sqltext.Rollback || f.kind == sqltext.Commit && e.Reason == "rolled_back")
	case sqltext.Prepare:
		m.prepare(Kept{[]byte(f.name), appendQuery(nil, f.text), ordinal})
	case sqltext.Deallocate:
		if f.all {
			clear(m.named)
		} else {
			m.forget(f.name)
		}
	case sqltext.Discard:
		if f.all {
			clear(m.named)
			s.discard()
		}
	case sqltext.Set, sqltext.SetConfig, sqltext.Reset:
		if f.set != nil {
			s.add(f.set)
		}
	}
}

// Statements are those that are alive, oldest first.
func (m *Memory) Statements() []Kept {
	var all []Kept
	if m.unnamed != nil {
		all = append(all, *m.unnamed)
	}
	for _, s := range m.named {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), slices.Compare(a.Name, b.Name))
	})
	return all
}

// Sets are the SET statements in force, and those of the transaction under way.
func (m *Memory) Sets() (inForce, open [][]byte) {
	if len(m.settings.sets) > 0 {
		inForce = m.settings.texts()
	}
	return inForce, m.settings.uncommitted()
}

// Pending are the events whose replies are not known.
func (m *Memory) Pending() []Asked { return m.pending }
