package pg

// send takes a whole event under a name of the caller's choice. The messages
// are not partitioned: the caller knows what an event is.
func (c *Conversation) send(ordinal uint64, b []byte, now int64) error {
	if c.phase != talking {
		return fault("event %d sent outside a session", ordinal)
	}
	if len(b) == 0 {
		return fault("event %d has no bytes", ordinal)
	}
	if err := c.bounded(); err != nil {
		return err
	}
	c.next = ordinal
	c.begin(now)
	c.named = true
	defer func() { c.named = false }()
	last := uint16(0)
	for rest := b; len(rest) > 0; {
		typ, m, after, err := cut(rest)
		if err != nil {
			return err
		}
		bit, ok := contents(typ)
		if !ok {
			return fault("event %d holds an unknown message %q", ordinal, typ)
		}
		c.bytes = b[:len(b)-len(rest)]
		c.take(typ, bit, m, len(m))
		rest, last = after, bit
	}
	c.bytes = b
	c.closeEvent(last&(hasSync|hasFlush|hasQuery|hasFunction|hasTerminate) != 0)
	return nil
}

// cut takes the first message off b.
func cut(b []byte) (typ byte, m, rest []byte, err error) {
	if len(b) < headerLen {
		return 0, nil, nil, fault("%d bytes where a message should begin", len(b))
	}
	typ, body, err := parseHeader(b)
	if err != nil {
		return 0, nil, nil, err
	}
	if n := headerLen + body; n <= len(b) {
		return typ, b[:n], b[n:], nil
	}
	return 0, nil, nil, fault("message %q of %d bytes in %d", typ, headerLen+body, len(b))
}
