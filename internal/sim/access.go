package sim

import "slices"

// access is what a statement does to one row.
type access struct {
	verb    string
	table   string
	keyName string
	key     operand
	columns []string  // to read, or to write
	changes []operand // what is written
	signs   []byte    // per change: '+' or '-' adds to what is there, 0 replaces it
	exists  byte      // of an INSERT whose key is there: 'n'othing, 'u'pdate, or 0 for an error
}

// access understands the rest of a statement that begins with verb, or
// returns nil.
func (p *parser) access(verb string) *access {
	a := &access{verb: verb}
	understood := map[string]func(*access) bool{
		"select": p.read, "insert": p.insert, "update": p.update, "delete": p.remove,
	}[verb](a)
	if !understood {
		return nil
	}
	return a
}

func (p *parser) read(a *access) bool {
	for {
		name, ok := p.column()
		if !ok {
			return false
		}
		a.columns = append(a.columns, name)
		if p.word("from") {
			break
		}
		if !p.word(",") {
			return false
		}
	}
	var ok bool
	if a.table, ok = p.table(); !ok || !p.where(a) {
		return false
	}
	return len(p.rest) == 0 || p.word("for") || p.word("limit")
}

// where takes WHERE key = value.
func (p *parser) where(a *access) bool {
	var ok bool
	if !p.word("where") {
		return false
	}
	if a.keyName, ok = p.column(); !ok || !p.word("=") {
		return false
	}
	a.key, ok = p.operand()
	return ok
}

func (p *parser) insert(a *access) bool {
	var ok bool
	if !p.word("into") {
		return false
	}
	if a.table, ok = p.table(); !ok {
		return false
	}
	if a.columns, ok = p.columns(); !ok || !p.words("values", "(") {
		return false
	}
	for i := range a.columns {
		o, ok := p.operand()
		if !ok {
			return false
		}
		a.changes = append(a.changes, o)
		if i < len(a.columns)-1 && !p.word(",") {
			return false
		}
	}
	a.keyName, a.key = a.columns[0], a.changes[0]
	a.columns, a.changes = a.columns[1:], a.changes[1:]
	a.signs = make([]byte, len(a.changes))
	return p.word(")") && (len(p.rest) == 0 || p.conflict(a))
}

// conflict takes ON CONFLICT to its end.
func (p *parser) conflict(a *access) bool {
	if !p.words("on", "conflict") {
		return false
	}
	if p.words("(", a.keyName) && !p.word(")") {
		return false
	}
	if p.words("do", "nothing") {
		a.exists = 'n'
		return len(p.rest) == 0
	}
	a.exists = 'u'
	if !p.words("do", "update", "set") {
		return false
	}
	for {
		name, ok := p.column()
		if !ok || !slices.Contains(a.columns, name) || !p.words("=", "excluded", ".", name) {
			return false
		}
		if len(p.rest) == 0 {
			return true
		}
		if !p.word(",") {
			return false
		}
	}
}

func (p *parser) update(a *access) bool {
	var ok bool
	if a.table, ok = p.table(); !ok || !p.word("set") {
		return false
	}
	for {
		if !p.change(a) {
			return false
		}
		if !p.word(",") {
			return p.where(a) && len(p.rest) == 0
		}
	}
}

// change takes column = value or column = column ± value.
func (p *parser) change(a *access) bool {
	name, ok := p.column()
	if !ok || !p.word("=") {
		return false
	}
	var sign byte
	if p.words(name, "+") {
		sign = '+'
	} else if p.words(name, "-") {
		sign = '-'
	}
	o, ok := p.operand()
	a.columns, a.signs, a.changes = append(a.columns, name), append(a.signs, sign), append(a.changes, o)
	return ok
}

func (p *parser) remove(a *access) bool {
	var ok bool
	if !p.word("from") {
		return false
	}
	if a.table, ok = p.table(); !ok {
		return false
	}
	return p.where(a) && len(p.rest) == 0
}
