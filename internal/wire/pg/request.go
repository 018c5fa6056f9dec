package pg

// request is the event being read.
type request struct {
	open  bool
	has   uint16
	size  uint64
	over  bool   // too long to keep
	bytes []byte // its messages; the caller's in Send
	buf   []byte // holds bytes
	piece []byte // holds a message that came in pieces
	text  []byte // its SQL, if that no longer lies in bytes
	from  int    // its SQL in bytes
	to    int
	fetch bool // its portal has been executed before
	sets  bool // it executes a statement that has an effect
	last  byte // the last Query or Execute of the session, which a COPY may be
	named bool // the caller of Send gave it its ordinal
}

// message takes one whole message; m is less than size bytes if it is too long
// to keep.
func (c *Conversation) message(typ byte, m []byte, size int, start int64) error {
	bit, ok := contents(typ)
	if !ok {
		return fault("unknown frontend message %q", typ)
	}
	if size > c.limit { // as if it had come in pieces
		m = m[:min(len(m), headerLen+prefixLen)]
	}
	if c.open && !c.joins(bit, size) {
		c.closeEvent(false)
	}
	if !c.open {
		c.begin(start)
	}
	if err := c.bounded(); err != nil {
		return err
	}
	c.take(typ, bit, m, size)
	if c.ends(bit) {
		c.closeEvent(bit&hasData == 0)
	}
	return nil
}

// bounded: the queues have not grown beyond what sockets can hold.
func (c *Conversation) bounded() error {
	if c.events.len() > maxPending || c.owed.len() > 4*maxPending || len(c.kept.buf) > 8*c.limit+maxHeld {
		return fault("too much is waiting for its reply: %d events, %d messages", c.events.len(), c.owed.len())
	}
	return nil
}

// contents maps a message type to its bits.
func contents(typ byte) (uint16, bool) {
	switch typ {
	case 'B':
		return hasBind, true
	case 'E':
		return hasExecute, true
	case 'D':
		return hasDescribe, true
	case 'S':
		return hasSync, true
	case 'P':
		return hasParse, true
	case 'Q':
		return hasQuery, true
	case 'C':
		return hasClose, true
	case 'H':
		return hasFlush, true
	case 'd':
		return hasData, true
	case 'c', 'f':
		return hasData | hasDataEnd, true
	case 'F':
		return hasFunction, true
	case 'X':
		return hasTerminate, true
	}
	return 0, false
}

// runLen is where a run of COPY data is cut.
const runLen = 64 << 10

// joins: the message belongs to the event being read.
func (c *Conversation) joins(bit uint16, size int) bool {
	has := c.has
	switch bit {
	case hasBind:
		return has&^(hasParse|hasDescribe) == 0
	case hasDescribe:
		return has&^(hasParse|hasDescribe|hasBind) == 0
	case hasExecute:
		return has&hasBind != 0 && has&hasExecute == 0
	case hasClose:
		return has == hasClose
	case hasSync:
		return has&hasData == 0 || has&hasDataEnd != 0
	case hasFlush:
		return has&hasData == 0
	case hasData, hasData | hasDataEnd:
		return has == hasData && c.size+uint64(size) <= runLen
	}
	return false // Parse, Query, FunctionCall and Terminate begin one
}

// ends: the message is the last of its event. The end of a COPY's data is not
// in the extended protocol, where a Sync must follow.
func (c *Conversation) ends(bit uint16) bool {
	switch bit {
	case hasSync, hasFlush, hasQuery, hasFunction, hasTerminate:
		return true
	case hasData:
		return c.size >= runLen
	case hasData | hasDataEnd:
		return c.last != 'E'
	}
	return false
}

// begin opens an event.
func (c *Conversation) begin(start int64) {
	*c.events.add() = pending{ordinal: c.next, start: start, prepare: NoPrepare}
	c.next++
	c.open, c.has, c.size, c.over, c.fetch, c.sets = true, 0, 0, false, false, false
	c.buf, c.bytes, c.text, c.from, c.to = c.buf[:0], nil, c.text[:0], 0, 0
}

// event is the one being read.
func (c *Conversation) event() *pending { return c.events.at(c.events.tail - 1) }

// take adds a message to the event being read.
func (c *Conversation) take(typ byte, bit uint16, m []byte, size int) {
	at := len(c.bytes)
	c.size += uint64(size)
	c.has |= bit
	if !c.named {
		c.collect(m)
	}
	e := c.event()
	e.has = c.has
	if from, to := c.expect(typ, m, e); to > from {
		if c.over {
			c.text = append(c.text[:0], m[from:min(to, from+prefixLen)]...)
		} else {
			c.from, c.to = at+from, at+to
		}
	}
}

// collect keeps a message's bytes as long as the event is not too long.
func (c *Conversation) collect(m []byte) {
	if c.over {
		return
	}
	if c.size <= uint64(c.limit) {
		c.buf = append(c.buf, m...)
		c.bytes = c.buf
		return
	}
	c.over = true
	c.text = append(c.text[:0], c.bytes[c.from:min(c.to, c.from+prefixLen)]...)
	c.buf, c.bytes = nil, nil
}

// closeEvent ends the event being read.
func (c *Conversation) closeEvent(requestEnd bool) {
	e := c.event()
	c.open = false
	e.closed = true
	if c.has&hasData != 0 {
		requestEnd = true
	}
	r := &c.req
	*r = Request{
		Ordinal: e.ordinal, Op: c.op(), Start: e.start, Bytes: c.bytes, Size: c.size,
		RequestEnd: requestEnd, OverLimit: c.over, Parses: c.has&hasParse != 0, Prepare: NoPrepare,
		Changes: c.has&(hasParse|hasClose) != 0 || c.sets || len(e.effects) > 0,
	}
	if c.has&hasExecute != 0 {
		r.Prepare = e.prepare
	}
	if c.over && len(c.text) > 0 {
		r.Text = c.text
	} else if c.to > c.from {
		r.Text = c.bytes[c.from:c.to]
	}
	c.sink.Request(r)
	r.Bytes, r.Text, c.bytes = nil, nil, nil
	c.letGo()
	c.settle()
}

// letGo gives up the memory of an event that was unusually long.
func (c *Conversation) letGo() {
	if c.has&hasData == 0 && cap(c.buf) > 2*prefixLen {
		c.buf = nil
	}
	if cap(c.text) > prefixLen {
		c.text = nil
	}
	if c.has&hasTerminate != 0 {
		c.phase = ended
	}
}

// op says what kind of event it is.
func (c *Conversation) op() Op {
	switch has := c.has; {
	case has&hasExecute != 0:
		if c.fetch {
			return OpFetch
		}
		return OpExecute
	case has&hasQuery != 0:
		return OpQuery
	case has&hasParse != 0:
		return OpPrepare
	case has&hasData != 0:
		return OpCopy
	case has&hasTerminate != 0:
		return OpEnd
	case has&hasFunction != 0:
		return OpFunction
	case has&^(hasSync|hasFlush) == hasClose:
		return OpClose
	}
	return OpSync
}

// settle deals with an event that is whole: it waits for its reply, or has
// none and ends where it began.
func (c *Conversation) settle() {
	e := c.event()
	silent := e.has&(hasData|hasTerminate) != 0 || e.has&^(hasFlush|hasSync) == 0
	if silent && e.waiting == 0 && !e.replied && e.outcome == OK && !e.borrows {
		e.first, e.done = e.start, e.start
		e.replied = true
		c.answer(e)
		c.events.tail--
		return
	}
	c.advance()
}
