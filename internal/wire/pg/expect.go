package pg

// expect notes what the server owes for a message and what names mean from
// here on if it succeeds. It returns where the message has its SQL.
func (c *Conversation) expect(typ byte, m []byte, e *pending) (from, to int) {
	body := m[headerLen:]
	switch typ {
	case 'B':
		c.expectBind(body, e)
	case 'E':
		c.expectExecute(body, e)
	case 'D':
		c.owe(expectation{kind: 'D'}, e)
	case 'S':
		c.expectSync(e)
	case 'P':
		return c.expectParse(m, e)
	case 'Q':
		return c.expectQuery(m, e)
	case 'C':
		c.expectClose(body, e)
	case 'F':
		c.owe(expectation{kind: 'F'}, e)
	case 'c', 'f':
		c.dataEnds()
	}
	return 0, 0
}

// owe queues an expectation, unless the server is discarding messages.
func (c *Conversation) owe(x expectation, e *pending) {
	if c.skipping {
		c.skip(e)
		return
	}
	x.event = c.events.tail - 1
	*c.owed.add() = x
	e.waiting++
}

// skip marks an event of which the server discards messages.
func (c *Conversation) skip(e *pending) {
	e.fail(Skipped, "aborted")
	e.done = max(e.done, e.start, c.failedAt)
}

// remember keeps bytes until an expectation is met.
func (c *Conversation) remember(parts ...[]byte) uint64 {
	at := c.kept.tail()
	if c.skipping { // nothing will be owed
		return at
	}
	for _, p := range parts {
		c.kept.buf = append(c.kept.buf, p...)
	}
	return at
}

func (c *Conversation) expectParse(m []byte, e *pending) (from, to int) {
	name, rest, _ := cstring(m[headerLen:])
	sql, _, _ := cstring(rest)
	from = len(m) - len(rest)
	made := statement{ordinal: e.ordinal}
	if effects := effectsOf(sql); len(effects) == 1 {
		made.effect = &effects[0]
	}
	k := key(name)
	c.guess.prepare(k, made)
	c.rename(k)
	x := expectation{kind: 'P', n1: uint8(len(k))}
	if whole(m) && len(m) <= c.limit && len(c.kept.buf)+len(m) <= 4*c.limit {
		x.size, x.at = uint32(len(m)), c.remember(m)
	} else {
		x.bare, x.size, x.at = true, uint32(len(k)), c.remember(k)
	}
	c.owe(x, e)
	return from, from + len(sql)
}

func (c *Conversation) expectBind(body []byte, e *pending) {
	name, rest, _ := cstring(body)
	stmt, _, _ := cstring(rest)
	p, s := key(name), key(stmt)
	c.guess.bind(p, portal{statement: c.guess.statement(s), bound: e.ordinal})
	x := expectation{kind: 'B', n1: uint8(len(p)), n2: uint8(len(s)), size: uint32(len(p) + len(s))}
	if x.size > 0 {
		x.at = c.remember(p, s)
	}
	c.owe(x, e)
}

func (c *Conversation) expectExecute(body []byte, e *pending) {
	name, _, _ := cstring(body)
	k := key(name)
	p := c.guess.portal(k)
	e.prepare, c.fetch, c.sets = p.ordinal, p.executed, p.effect != nil
	if !p.executed {
		p.executed = true
		c.guess.bind(k, p)
	}
	x := expectation{kind: 'E', n1: uint8(len(k)), size: uint32(len(k))}
	if x.size > 0 {
		x.at = c.remember(k)
	}
	c.last = 'E'
	c.owe(x, e)
}

func (c *Conversation) expectClose(body []byte, e *pending) {
	x := expectation{kind: 'C'}
	if len(body) > 0 {
		name, _, _ := cstring(body[1:])
		k := key(name)
		if body[0] == 'S' {
			c.guess.drop(k)
			c.rename(k)
		} else {
			c.guess.unbind(k)
		}
		x.n1, x.size = uint8(len(k)), uint32(len(k)+1)
		x.at = c.remember(body[:1], k)
	}
	c.owe(x, e)
}

// expectQuery: a simple query also drops the unnamed statement and portal.
func (c *Conversation) expectQuery(m []byte, e *pending) (from, to int) {
	sql, _, _ := cstring(m[headerLen:])
	e.effects = effectsOf(sql)
	c.guess.unnamed, c.guess.nameless = noStatement, noPortal
	c.last = 'Q'
	c.owe(expectation{kind: 'Q'}, e)
	return headerLen, headerLen + len(sql)
}

// expectSync: a Sync ends the discarding that an error began. Inside a COPY
// FROM STDIN the server ignores it.
func (c *Conversation) expectSync(e *pending) {
	if c.copyOpen {
		c.void(c.events.tail - 1)
		return
	}
	c.skipping = false
	c.owe(expectation{kind: 'S'}, e)
}

// rename notes that guess and truth may differ about a name.
func (c *Conversation) rename(name []byte) {
	if len(name) > 0 && len(c.renamed) < maxNames {
		c.renamed = append(c.renamed, string(name))
	}
}
