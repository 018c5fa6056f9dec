package sim

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// maxKeys bounds what is remembered.
const maxKeys = 1_000_000

// The errors of a write, by SQLSTATE.
var (
	errExists   = errors.New("23505")
	errFull     = errors.New("53100")
	errNoNumber = errors.New("22P02")
)

// store remembers rows by table and key. A key that nobody has written yet
// reads as a row of zeros if full, and is not there if not. There are no locks
// and no isolation: what is written is seen at once by everybody, and taken
// back when its transaction is.
type store struct {
	full bool

	mu     sync.Mutex
	tables map[string]*table
	keys   int
}

type table struct {
	rows map[string]map[string]value // nil for a deleted one
	text map[string]bool             // columns that have held something else than integers
}

func newStore(full bool) *store { return &store{full: full, tables: map[string]*table{}} }

func (s *store) table(name string) *table {
	t, ok := s.tables[name]
	if !ok {
		t = &table{rows: map[string]map[string]value{}, text: map[string]bool{}}
		s.tables[name] = t
	}
	return t
}

// isText tells whether a column is to be described as text, not as a number.
func (s *store) isText(table, column string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tables[table]
	return ok && t.text[column]
}

// row finds a row; written tells whether anybody has written its key.
func (s *store) row(t *table, key string) (row map[string]value, there, written bool) {
	row, written = t.rows[key]
	if written {
		return row, row != nil, true
	}
	return nil, s.full, false
}

// read returns the values of columns, false if there is no such row.
func (s *store) read(table, keyName, key string, columns []string) ([]value, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, there, _ := s.row(s.table(table), key)
	if !there {
		return nil, false
	}
	var all []value
	for _, c := range columns {
		v, ok := row[c]
		switch {
		case c == keyName:
			v = value{text: key}
		case !ok:
			v = value{text: "0"}
		}
		all = append(all, v)
	}
	return all, true
}

// undo takes a write back; whoever calls it holds no lock.
type undo func()

// write does what a says with values in place of its operands, and returns how
// many rows it met.
func (s *store) write(a *access, key string, values []value) (int, undo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.table(a.table)
	row, there, written := s.row(t, key)
	switch a.verb {
	case "insert":
		switch {
		case there && written && a.exists == 0:
			return 0, nil, errExists
		case there && written && a.exists == 'n':
			return 0, nil, nil
		}
	default:
		if !there {
			return 0, nil, nil
		}
	}
	if !written && s.keys >= maxKeys {
		return 0, nil, errFull
	}
	var changed map[string]value // of a DELETE it stays nil
	if a.verb != "delete" {
		var err error
		if changed, err = t.change(a, row, values); err != nil {
			return 0, nil, err
		}
		t.note(a.keyName, value{text: key})
	}
	t.rows[key] = changed
	if !written {
		s.keys++
	}
	return 1, s.takesBack(t, a, key, row, written, values), nil
}

// change makes the row after a write. Values are never changed in place: who
// undoes has the row before.
func (t *table) change(a *access, row map[string]value, values []value) (map[string]value, error) {
	changed := make(map[string]value, len(row)+len(values))
	maps.Copy(changed, row)
	for i, c := range a.columns {
		v := values[i]
		if a.signs[i] != 0 {
			var err error
			if v, err = add(row[c], v, a.signs[i]); err != nil {
				return nil, err
			}
		}
		changed[c] = v
		t.note(c, v)
	}
	return changed, nil
}

// note remembers what a column holds.
func (t *table) note(column string, v value) {
	if _, err := strconv.ParseInt(v.text, 10, 64); err != nil && !v.null {
		t.text[column] = true
	}
}

func add(a, b value, sign byte) (value, error) {
	if a.null || b.null {
		return value{null: true}, nil
	}
	if a.text == "" {
		a.text = "0" // nobody has written it
	}
	x, err := strconv.ParseInt(a.text, 10, 64)
	y, err2 := strconv.ParseInt(b.text, 10, 64)
	if err != nil || err2 != nil {
		return value{}, errNoNumber
	}
	if sign == '-' {
		y = -y
	}
	return value{text: strconv.FormatInt(x+y, 10)}, nil
}

// takesBack is the undo of a write. What was added is taken off, so that sums
// of others in between stay right; what was replaced is put back.
func (s *store) takesBack(t *table, a *access, key string, before map[string]value, written bool, values []value) undo {
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := t.rows[key]
		if now == nil || !slices.ContainsFunc(a.signs, func(sign byte) bool { return sign != 0 }) {
			if t.rows[key] = before; !written {
				delete(t.rows, key)
				s.keys--
			}
			return
		}
		t.rows[key] = a.back(now, before, values)
	}
}

func (a *access) back(now, before map[string]value, values []value) map[string]value {
	back := maps.Clone(now)
	for i, c := range a.columns {
		was, there := before[c]
		switch a.signs[i] {
		case '+', '-':
			if v, err := add(now[c], values[i], '+'+'-'-a.signs[i]); err == nil {
				back[c] = v
			}
			continue
		}
		if back[c] = was; !there {
			delete(back, c)
		}
	}
	return back
}

// sizes counts the rows of each table that have been written and are there.
func (s *store) sizes() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]int{}
	for name, t := range s.tables {
		for _, row := range t.rows {
			if row != nil {
				all[name]++
			}
		}
	}
	return all
}
