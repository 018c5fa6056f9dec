package pg

import "encoding/binary"

// readClient cuts the client's stream into messages.
func (c *Conversation) readClient(b []byte, now int64) error {
	for len(b) > 0 {
		var n int
		var err error
		switch c.phase {
		case starting:
			n, err = c.readStartup(b, now)
		case talking:
			n, err = c.readMessage(b, now)
		default: // nothing counts after Terminate
			return nil
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// readMessage takes what it can of one message.
func (c *Conversation) readMessage(b []byte, now int64) (int, error) {
	r := &c.client
	if r.idle() && len(b) >= headerLen {
		typ, body, err := parseHeader(b)
		if err != nil {
			return 0, err
		}
		if n := headerLen + body; n <= len(b) && typ != 'p' {
			return n, c.message(typ, b[:n], n, now)
		}
	}
	done := 0
	if !r.head.whole() {
		n, ok, err := r.begin(b, now)
		if !ok {
			return n, err
		}
		done = n
		if err := c.admit(r); err != nil {
			return n, err
		}
	}
	n := min(r.left, len(b)-done)
	if room := r.keep - (r.body - r.left); room > 0 {
		c.piece = append(c.piece, b[done:done+min(n, room)]...)
	}
	if r.left -= n; r.left > 0 {
		return done + n, nil
	}
	return done + n, c.pieced(r)
}

// admit decides how much of a message that comes in pieces is kept. Of an
// answer in the login, nothing.
func (c *Conversation) admit(r *reader) error {
	if !c.known(r.typ) {
		return fault("unknown frontend message %q", r.typ)
	}
	switch {
	case r.typ == 'p':
	case headerLen+r.body <= c.limit:
		r.keep = r.body
	default:
		r.keep = prefixLen
	}
	c.piece = append(c.piece[:0], r.head.b[:]...)
	return nil
}

// pieced hands on a message that came in pieces.
func (c *Conversation) pieced(r *reader) error {
	defer r.next()
	if r.typ == 'p' {
		return nil
	}
	err := c.message(r.typ, c.piece, headerLen+r.body, r.start)
	if cap(c.piece) > 2*prefixLen {
		c.piece = nil
	}
	return err
}

// known: a message type a client may send here.
func (c *Conversation) known(typ byte) bool {
	switch typ {
	case 'P', 'B', 'D', 'E', 'C', 'S', 'H', 'Q', 'F', 'X', 'd', 'c', 'f':
		return true
	case 'p':
		return c.login
	}
	return false
}

// readStartup takes what it can of a start packet, or of the requests for
// encryption before it, which must have been refused.
func (c *Conversation) readStartup(b []byte, now int64) (int, error) {
	r := &c.client
	if len(r.buf) == 0 {
		r.start = now
	}
	have := len(r.buf)
	want := 4
	if have >= 4 {
		want = int(binary.BigEndian.Uint32(r.buf))
	}
	n := min(want-have, len(b))
	r.buf = append(r.buf, b[:n]...)
	if len(r.buf) < want {
		return n, nil
	}
	if want == 4 {
		_, err := startupSize(r.buf)
		return n, err
	}
	err := c.startup(r.buf, r.start)
	r.buf = nil
	return n, err
}

// startup acts on a whole packet.
func (c *Conversation) startup(packet []byte, start int64) error {
	switch code := binary.BigEndian.Uint32(packet[4:]); code {
	case CodeSSL, CodeGSS:
		if c.answers++; c.answers > 2 {
			return fault("too many requests for encryption")
		}
		return nil
	case CodeCancel:
		return fault("a cancel request is no session")
	}
	s, err := ParseStartup(packet)
	if err != nil {
		return err
	}
	c.phase = talking
	c.sink.Started(s)
	e := c.events.add()
	*e = pending{ordinal: c.next, start: start, prepare: NoPrepare, closed: true, waiting: 1}
	*c.owed.add() = expectation{kind: kindLogin, event: c.events.tail - 1}
	c.next++
	c.req = Request{Ordinal: e.ordinal, Op: OpConnect, Start: start, RequestEnd: true, Prepare: NoPrepare}
	c.sink.Request(&c.req)
	return nil
}
