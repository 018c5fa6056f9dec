package pg

import "encoding/binary"

// finish acts on a whole message of the server; false if it is an error that
// answers something not read yet.
func (c *Conversation) finish(now int64) (bool, error) {
	r := &c.server
	switch r.typ {
	case 'N', 'A':
		return true, nil
	case 'S':
		name, rest, _ := cstring(r.data)
		value, _, _ := cstring(rest)
		c.sink.Setting(string(name), string(value))
		return true, nil
	case 'E':
		return c.failed(now), nil
	case 'Z':
		c.ready(now)
		return true, nil
	}
	x := c.front()
	e := c.events.at(x.event)
	e.done = now
	switch r.typ {
	case 'D', 'd', 'T', 't':
		if c.rows.at {
			e.checksum += c.rows.end()
		}
		if r.typ == 'T' && x.kind == 'D' {
			c.met(x, e)
		}
	case 'C':
		c.completed(x, e, r.data)
	case '1':
		c.prepared(x, e)
	case '2':
		c.bound(x, e)
	case 's', 'I':
		c.suspended(x, e)
	case 'n':
		if x.kind == 'D' {
			c.met(x, e)
		}
	case '3':
		c.unnamed(x, e)
	case 'K':
		c.backendKey(r.data)
	case 'G':
		c.copyBegins(x.event)
	}
	return true, nil
}

// met takes the front expectation off the queue.
func (c *Conversation) met(x *expectation, e *pending) {
	e.waiting--
	c.kept.free(x)
	c.owed.head++
	if e.waiting == 0 {
		c.advance()
	}
}

// failed takes an ErrorResponse.
func (c *Conversation) failed(now int64) bool {
	code, fatal := parseError(c.server.data)
	x := c.front()
	if x == nil {
		if fatal {
			c.fatal = code
		}
		return fatal
	}
	e := c.events.at(x.event)
	if b := c.events.front(); x.kind == 'S' && b.borrows {
		e = b // the commit that failed was that of the COPY before
	}
	e.reply(c.server.start, headerLen+c.server.body)
	e.done = now
	e.fail(Failed, code)
	c.settings.failed = true
	e.flush()
	c.dirty, c.failedAt = true, now
	c.copyEnds(true)
	switch {
	case fatal, x.kind == kindLogin:
		c.fatal = code
		e.waiting, e.borrows = 0, false
		c.advance()
	case x.kind == 'P', x.kind == 'B', x.kind == 'D', x.kind == 'E', x.kind == 'C':
		c.refuse(x, e)
		c.discard()
	}
	return true
}

// refuse resolves the statement of an execution that failed.
func (c *Conversation) refuse(x *expectation, e *pending) {
	b := c.kept.of(x)
	switch x.kind {
	case 'P':
		if x.n1 == 0 { // dropped before the new one is read
			c.refuseUnnamed()
		}
	case 'B':
		if e.has&hasExecute != 0 {
			e.prepare = c.truth.statement(b[x.n1:]).ordinal
		}
	case 'E':
		e.prepare = c.truth.portal(b).ordinal
	}
}

func (c *Conversation) refuseUnnamed() {
	if c.truth.drop(nil) {
		c.sink.Deallocated([]byte{})
	}
}

// discard drops what the server will not answer: everything up to the next
// Sync, read already or not.
func (c *Conversation) discard() {
	first := c.owed.front().event
	for c.owed.len() > 0 {
		x := c.owed.front()
		if x.kind == 'S' {
			break
		}
		if x.kind != kindVoid && x.kind != kindDataEnd {
			e := c.events.at(x.event)
			e.waiting--
			if x.event != first {
				c.skip(e)
			}
		}
		c.kept.free(x)
		c.owed.head++
	}
	c.skipping = c.owed.len() == 0
	c.advance()
}

// ready takes a ReadyForQuery.
func (c *Conversation) ready(now int64) {
	if len(c.server.data) > 0 {
		c.state = c.server.data[0]
	}
	c.login = false
	c.repay(now)
	if s := &c.settings; s.failed || s.changed || len(s.open) > 0 {
		c.tellSets()
	}
	if c.phantom {
		c.phantom, c.skipping = false, false
		c.advance()
		return
	}
	x := c.front()
	e := c.events.at(x.event)
	e.done = now
	e.flush()
	c.copyEnds(false)
	if x.kind == 'Q' { // it begins by dropping the unnamed statement
		c.refuseUnnamed()
		c.truth.nameless = noPortal
	}
	if c.state == 'I' {
		c.truth.idle(e.ordinal)
		c.guess.idle(e.ordinal)
	}
	c.met(x, e)
}

// advance answers the events that are complete, oldest first.
func (c *Conversation) advance() {
	for c.events.len() > 0 {
		e := c.events.front()
		if !e.complete() {
			return
		}
		if c.open && c.has&hasData != 0 && c.events.len() > 1 {
			// Data on its way to this COPY was not sent after its reply:
			// whoever replays it must not wait for the reply.
			c.closeEvent(false)
			continue
		}
		c.answer(e)
		c.events.head++
	}
	c.rest()
}

// answer tells the sink.
func (c *Conversation) answer(e *pending) {
	e.done = max(e.done, e.start) // if the two came with times out of order
	if !e.replied {
		e.first = e.done
	}
	e.first = min(max(e.first, e.start), e.done)
	r := &c.rep
	r.Ordinal, r.First, r.Done, r.Rows, r.Results = e.ordinal, e.first, e.done, e.rows+e.counted, e.results
	r.Checksum = e.checksum
	r.Bytes, r.Outcome, r.Reason, r.State, r.Prepare = e.bytes, e.outcome, e.reason, c.state, e.prepare
	c.sink.Reply(r)
}

// rest uses the moment when nothing is pending.
func (c *Conversation) rest() {
	if c.skipping {
		return // the client does not know yet
	}
	if c.dirty {
		c.dirty = false
		for _, name := range c.renamed {
			if s := c.truth.statement([]byte(name)); s.ordinal != NoPrepare {
				c.guess.prepare([]byte(name), s)
			} else {
				c.guess.drop([]byte(name))
			}
		}
		c.guess.unnamed = c.truth.unnamed
		c.guess.copyPortals(&c.truth)
	}
	if c.front() == nil {
		c.events.trim()
		c.owed.trim()
		c.kept.freeTo(c.kept.tail())
	}
	c.renamed = c.renamed[:0]
	if cap(c.renamed) > roomy {
		c.renamed = nil
	}
}

// backendKey keeps what is needed to cancel: keys have four bytes, or up to
// 256 since protocol 3.2.
func (c *Conversation) backendKey(b []byte) {
	if len(b) >= 4 {
		c.pid = binary.BigEndian.Uint32(b)
		c.key = append([]byte(nil), b[4:]...)
	}
}
