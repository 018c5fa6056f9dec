package pg

// stage of the server message at hand.
type stage byte

const (
	atHeader stage = iota
	atMatch        // whose answer is it?
	atBody
	atEnd // what does it say?
)

// readServer feeds bytes of the server, or lets them wait behind others.
func (c *Conversation) readServer(b []byte, now int64) error {
	if c.waiting {
		return c.held.add(b, now)
	}
	n, err := c.feed(b, now)
	if err == nil && c.waiting && n < len(b) {
		err = c.held.add(b[n:], now)
	}
	return err
}

// release tries again what waited for the client's bytes.
func (c *Conversation) release() error {
	c.waiting = false
	if _, err := c.feed(nil, c.waitedAt); err != nil {
		return err
	}
	h := &c.held
	for !c.waiting && len(h.marks) > 0 {
		m := h.marks[0]
		n, err := c.feed(h.buf[h.at:m.end], m.now)
		if err != nil {
			return err
		}
		if h.at += n; h.at == m.end {
			h.marks = h.marks[1:]
		}
	}
	h.compact()
	return nil
}

// feed reads until b is used up or a message must wait.
func (c *Conversation) feed(b []byte, now int64) (done int, err error) {
	r := &c.server
	for c.fatal == "" {
		if c.stage == atHeader {
			if done == len(b) {
				return done, nil
			}
			if c.phase == starting || c.answers > 0 {
				if ok, err := c.refused(b[done], now); !ok {
					return done, err
				}
				done++
				continue
			}
			n, ok, err := r.begin(b[done:], now)
			if done += n; !ok {
				return done, err
			}
			c.stage = atMatch
		}
		if c.stage == atMatch {
			if ok, err := c.match(); !ok {
				c.wait(now)
				return done, err
			}
			c.stage = atBody
		}
		if c.stage == atBody {
			n, ok := r.read(b[done:])
			if c.rows.at {
				c.rows.add(b[done:done+n], n == r.body)
			}
			if done += n; !ok {
				return done, nil
			}
			c.stage = atEnd
		}
		if ok, err := c.finish(now); !ok {
			r.hold()
			c.wait(now)
			return done, err
		}
		r.next()
		c.stage = atHeader
	}
	return len(b), nil // after a fatal error nothing counts
}

func (c *Conversation) wait(now int64) { c.waiting, c.waitedAt = true, now }

// refused takes the single byte that answers a request for encryption; before
// the client has asked for anything the server's bytes wait.
func (c *Conversation) refused(answer byte, now int64) (bool, error) {
	if c.answers == 0 {
		c.wait(now)
		return false, nil
	}
	if answer != 'N' {
		return false, fault("the server answered %q to a request for encryption", answer)
	}
	c.answers--
	return true, nil
}
