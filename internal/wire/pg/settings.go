package pg

import (
	"slices"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
)

// Bounds of what is remembered of a session's settings. What is over them is
// not in force for whoever goes by this.
const (
	maxSetText    = 4 << 10
	maxSets       = 128
	maxOpenSets   = 1024 // of the transaction under way
	maxSavepoints = 256  // that have a SET before them
)

// settings follows which SET statements are in force in a session, apart from
// what it asked for when it connected. Those of a transaction count once it is
// committed.
type settings struct {
	sets    []set
	open    []change
	saved   []savepoint
	failed  bool // something since the last ReadyForQuery
	changed bool // since the sink was told
	told    bool // that there are any
}

// set is a statement in force.
type set struct {
	names []string // those that no later one has set
	text  []byte   // nil where it cannot be kept
}

// change is what a statement does to the settings.
type change struct {
	sqltext.Setting
	text []byte
}

// savepoint is one that came after a SET of its transaction; rolling back to
// any other takes all of them back.
type savepoint struct {
	name string
	open int
}

// changeOf reads a statement of settings; nil if it does nothing that lasts.
func changeOf(text []byte) *change {
	s := sqltext.Settings(text)
	if len(s.Names) == 0 && !s.All {
		return nil
	}
	c := &change{Setting: s}
	if len(text) <= maxSetText && !sqltext.HoldsSecret(text) {
		c.text = append(c.text, text...)
	}
	return c
}

// add takes a change of the transaction under way.
func (s *settings) add(c *change) {
	nothing := c.Back && len(s.sets)+len(s.open) == 0
	if !nothing && len(s.open) < maxOpenSets {
		s.changed = true
		s.open = append(s.open, *c)
	}
}

// discard is DISCARD ALL.
func (s *settings) discard() {
	if len(s.sets)+len(s.open) == 0 {
		return
	}
	s.add(&change{Setting: sqltext.Setting{All: true, Back: true}})
	s.add(&change{Setting: sqltext.Setting{Names: []string{sqltext.Authorization, sqltext.Role}, Back: true}})
}

func (s *settings) savepoint(name string) {
	if len(s.open) > 0 && len(s.saved) < maxSavepoints {
		s.saved = append(s.saved, savepoint{name, len(s.open)})
	}
}

// find is the latest savepoint of that name, -1 for none.
func (s *settings) find(name string) int {
	for i := len(s.saved) - 1; i >= 0; i-- {
		if s.saved[i].name == name {
			return i
		}
	}
	return -1
}

func (s *settings) release(name string) {
	if i := s.find(name); i >= 0 {
		s.saved = s.saved[:i]
	}
}

func (s *settings) rollbackTo(name string) {
	s.failed = false
	i := s.find(name)
	if i < 0 {
		s.rollback()
		return
	}
	s.open, s.saved = s.open[:s.saved[i].open], s.saved[:i+1]
}

func (s *settings) rollback() { s.open, s.saved = nil, nil }

// commit makes the changes of a transaction last.
func (s *settings) commit() {
	for i := range s.open {
		s.apply(&s.open[i])
	}
	s.rollback()
}

// ready takes a ReadyForQuery.
func (s *settings) ready(state byte) {
	s.changed = s.changed || state == 'I' && len(s.open) > 0
	switch {
	case state != 'I':
	case s.failed:
		s.rollback()
	default:
		s.commit()
	}
	s.failed = false
}

// apply makes a change last. What it sets, no earlier statement does any more.
func (s *settings) apply(c *change) {
	if c.All {
		s.drop(func(name string) bool { return name != sqltext.Role && name != sqltext.Authorization })
		return
	}
	s.drop(func(name string) bool { return slices.Contains(c.Names, name) })
	if c.text != nil && !c.Back && len(s.sets) < maxSets {
		s.sets = append(s.sets, set{slices.Clone(c.Names), c.text})
	}
}

func (s *settings) drop(gone func(name string) bool) {
	for i := range s.sets {
		s.sets[i].names = slices.DeleteFunc(s.sets[i].names, gone)
	}
	s.sets = slices.DeleteFunc(s.sets, func(x set) bool { return len(x.names) == 0 })
}

// texts are the statements in force, oldest first.
func (s *settings) texts() [][]byte {
	texts := make([][]byte, len(s.sets))
	for i := range s.sets {
		texts[i] = s.sets[i].text
	}
	return texts
}

// uncommitted are the changes of the transaction under way.
func (s *settings) uncommitted() [][]byte {
	var texts [][]byte
	for i := range s.open {
		if s.open[i].text != nil {
			texts = append(texts, s.open[i].text)
		}
	}
	return texts
}
