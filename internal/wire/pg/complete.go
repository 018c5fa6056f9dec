package pg

import "github.com/retrace-db/retrace/internal/wire/sqltext"

// prepared: a Parse has succeeded.
func (c *Conversation) prepared(x *expectation, e *pending) {
	b := c.kept.of(x)
	name, message := b, []byte(nil)
	made := statement{ordinal: e.ordinal}
	if !x.bare {
		name, message = b[headerLen:headerLen+int(x.n1)], b
		_, rest, _ := cstring(b[headerLen:])
		sql, _, _ := cstring(rest)
		if effects := effectsOf(sql); len(effects) == 1 {
			made.effect = &effects[0]
		}
	}
	c.truth.prepare(name, made)
	c.sink.Prepared(name, e.ordinal, message)
	c.met(x, e)
}

// bound: a Bind has succeeded.
func (c *Conversation) bound(x *expectation, e *pending) {
	b := c.kept.of(x)
	c.truth.bind(b[:x.n1], portal{statement: c.truth.statement(b[x.n1:]), bound: e.ordinal})
	c.met(x, e)
}

// unnamed: a Close has succeeded, of something or of nothing.
func (c *Conversation) unnamed(x *expectation, e *pending) {
	if b := c.kept.of(x); len(b) > 0 {
		if b[0] != 'S' {
			c.truth.unbind(b[1:])
		} else if c.truth.drop(b[1:]) {
			c.sink.Deallocated(b[1:])
		}
	}
	c.met(x, e)
}

// flush counts the rows of a result that had no number in its tag.
func (e *pending) flush() {
	e.rows += e.counted
	e.counted = 0
}

// completed: a statement is done and says what it did.
func (c *Conversation) completed(x *expectation, e *pending, tag []byte) {
	tag, _, _ = cstring(tag)
	if n, ok := tagRows(tag); ok {
		e.rows, e.counted = e.rows+n, 0
	} else {
		e.flush()
	}
	e.results++
	c.doubt = false
	c.copyEnds(false)
	if x.kind != 'E' {
		c.affected(e, tag)
		return
	}
	p := c.truth.portal(c.kept.of(x))
	e.prepare = p.ordinal
	if p.effect != nil {
		c.affect(p.effect, e, tag)
	}
	c.met(x, e)
}

// suspended: an Execute ended without a tag: its limit was reached, or its
// text was empty.
func (c *Conversation) suspended(x *expectation, e *pending) {
	if c.server.typ == 'I' {
		e.results++
	}
	e.flush()
	if x.kind == 'E' {
		e.prepare = c.truth.portal(c.kept.of(x)).ordinal
		c.met(x, e)
	}
}

// tagRows reads the number that ends most command tags.
func tagRows(tag []byte) (uint64, bool) {
	i := len(tag)
	for i > 0 && tag[i-1] >= '0' && tag[i-1] <= '9' {
		i--
	}
	if i == len(tag) || i == 0 || tag[i-1] != ' ' || len(tag)-i > 19 {
		return 0, false
	}
	n := uint64(0)
	for _, d := range tag[i:] {
		n = n*10 + uint64(d-'0')
	}
	return n, true
}

// affected finds the statement of a Query that a tag belongs to.
func (c *Conversation) affected(e *pending, tag []byte) {
	for i := range e.effects {
		if f := &e.effects[i]; f.tagged(tag) {
			c.affect(f, e, tag)
			e.effects = e.effects[i+1:]
			return
		}
	}
}

// tagged: the tag is one that such a statement gets.
func (f *effect) tagged(tag []byte) bool {
	switch f.kind {
	case sqltext.Commit:
		switch string(tag) {
		case "COMMIT", "ROLLBACK", "PREPARE TRANSACTION":
			return true
		}
	case sqltext.Rollback:
		return string(tag) == "ROLLBACK"
	case sqltext.Prepare:
		return string(tag) == "PREPARE"
	case sqltext.Deallocate:
		return string(tag) == "DEALLOCATE" || string(tag) == "DEALLOCATE ALL"
	case sqltext.Discard:
		return string(tag) == "DISCARD ALL"
	case sqltext.Set:
		return string(tag) == "SET" || string(tag) == "SET CONSTRAINTS"
	case sqltext.SetConfig:
		return string(tag) == "SELECT 1"
	case sqltext.Reset:
		return string(tag) == "RESET"
	case sqltext.Savepoint:
		return string(tag) == "SAVEPOINT"
	case sqltext.Release:
		return string(tag) == "RELEASE"
	}
	return false
}

// affect does to the names what the server did.
func (c *Conversation) affect(f *effect, e *pending, tag []byte) {
	if !f.tagged(tag) {
		return
	}
	switch f.kind {
	case sqltext.Commit:
		if string(tag) == "ROLLBACK" {
			e.fail(Failed, "rolled_back")
		}
		c.transaction(f, tag)
	case sqltext.Rollback, sqltext.Savepoint, sqltext.Release:
		c.transaction(f, tag)
	case sqltext.Set, sqltext.SetConfig, sqltext.Reset:
		if f.set != nil {
			c.settings.add(f.set)
		}
	case sqltext.Prepare:
		c.prepareSQL(f, e)
	case sqltext.Deallocate:
		if !f.all {
			c.deallocate(f.name, e.ordinal)
			return
		}
		c.deallocateAll(e.ordinal)
	case sqltext.Discard:
		c.deallocateAll(e.ordinal)
		c.settings.discard()
	}
}

// transaction does to the settings what the end of a transaction, or a part of
// one, does to them.
func (c *Conversation) transaction(f *effect, tag []byte) {
	s := &c.settings
	if len(s.open) == 0 {
		s.failed = s.failed && f.kind != sqltext.Rollback
		return
	}
	s.changed = true
	s.follow(f, string(tag) == "ROLLBACK")
}

// follow takes what ends a transaction or a part of one.
func (s *settings) follow(f *effect, back bool) {
	switch {
	case f.kind == sqltext.Savepoint:
		s.savepoint(f.save)
	case f.kind == sqltext.Release:
		s.release(f.save)
	case f.save != "":
		s.rollbackTo(f.save)
	case back:
		s.rollback()
	default:
		s.commit()
	}
}

// tellSets tells the sink what is in force now.
func (c *Conversation) tellSets() {
	s := &c.settings
	s.ready(c.state)
	if !s.changed {
		return
	}
	s.changed = false
	any := len(s.sets)+len(s.open) > 0
	if any || s.told {
		c.sink.Sets(s.texts(), s.uncommitted())
	}
	s.told = any
}

// prepareSQL: PREPARE made a statement, which Bind can use as well.
func (c *Conversation) prepareSQL(f *effect, e *pending) {
	s, name := statement{ordinal: e.ordinal}, []byte(f.name)
	c.truth.prepare(name, s)
	if g := c.guess.statement(name); g.ordinal == NoPrepare || g.ordinal < e.ordinal {
		c.guess.prepare(name, s)
	}
	c.sink.Prepared(name, e.ordinal, appendQuery(nil, f.text))
}

// appendQuery appends a Query message.
func appendQuery(dst, sql []byte) []byte {
	n := len(sql) + 5
	dst = append(dst, 'Q', byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(append(dst, sql...), 0)
}

// deallocate drops a name unless a later event has made it anew.
func (c *Conversation) deallocate(name string, ordinal uint64) {
	n := []byte(name)
	if c.truth.drop(n) {
		c.sink.Deallocated(n)
	}
	if g := c.guess.statement(n); g.ordinal < ordinal {
		c.guess.drop(n)
	}
}

func (c *Conversation) deallocateAll(ordinal uint64) {
	clear(c.truth.named)
	c.sink.Deallocated(nil)
	for name, s := range c.guess.named {
		if s.ordinal < ordinal {
			delete(c.guess.named, name)
		}
	}
}
