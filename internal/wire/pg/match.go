package pg

import "strings"

// match decides what the message whose header has been read answers, counts it
// there, and says how much of its body is wanted; false if it answers
// something that has not been read yet.
func (c *Conversation) match() (bool, error) {
	r := &c.server
	switch r.typ {
	case 'N', 'A': // notices and notifications belong to nothing
		return true, nil
	case 'S':
		r.keep = prefixLen
		return true, nil
	case 'E':
		r.keep = prefixLen
		return true, nil // attributed once it is known whether it is fatal
	}
	x := c.front()
	if x == nil {
		return c.unasked()
	}
	if r.typ == 'D' && (x.kind == 'E' || x.kind == 'Q') { // most messages there are
		e := c.events.at(x.event)
		e.reply(r.start, headerLen+r.body)
		e.counted++
		c.rows.at = c.rows.wanted
		return true, nil
	}
	if r.typ == 'C' && c.copyOpen && c.copyIn {
		return false, nil // it answers a CopyDone
	}
	if !answers(x.kind, r.typ) {
		return c.mismatch(x)
	}
	e := c.events.at(x.event)
	if r.typ == 'Z' && c.doubt && x.kind != 'S' && !e.replied {
		return c.unasked()
	}
	e.reply(r.start, headerLen+r.body)
	switch r.typ {
	case 'd':
		c.rows.at = c.rows.wanted
	case 'C', 'Z':
		r.keep = 256
	case 'K':
		r.keep = maxKey
	}
	return true, nil
}

// front is the first expectation that owes anything.
func (c *Conversation) front() *expectation {
	for c.owed.len() > 0 {
		x := c.owed.front()
		if x.kind != kindVoid && x.kind != kindDataEnd {
			return x
		}
		c.owed.head++
	}
	return nil
}

// answers tells which messages may answer what was asked.
func answers(kind, typ byte) bool {
	switch kind {
	case 'P':
		return typ == '1'
	case 'B':
		return typ == '2'
	case 'C':
		return typ == '3'
	case 'S':
		return typ == 'Z'
	case 'D':
		return typ == 't' || typ == 'T' || typ == 'n'
	case 'E':
		switch typ {
		case 'C', 'I', 's', 'G', 'H', 'W', 'd', 'c', 'D', 'T':
			return true
		}
		return false
	}
	return isLetter(typ) && (within(kind, typ) || !strings.ContainsRune(backendTypes, rune(typ)))
}

// backendTypes are the messages known; another may come with a protocol yet to
// be, and counts as part of what it comes with.
const backendTypes = "123ACDEGHIKNRSTVWZcdnstv"

// within tells what may come before the ReadyForQuery of a Query, a
// FunctionCall or the login.
func within(kind, typ byte) bool {
	switch kind {
	case 'Q':
		return strings.IndexByte("TDCIGHWdcZ", typ) >= 0
	case 'F':
		return typ == 'V' || typ == 'Z'
	}
	return strings.IndexByte("RKvZ", typ) >= 0
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// unasked deals with an answer to nothing: the second ReadyForQuery of a COPY
// in doubt, or an answer that is ahead of its question.
func (c *Conversation) unasked() (bool, error) {
	if c.server.typ != 'Z' || !c.doubt {
		return false, nil
	}
	c.doubt, c.phantom = false, true
	c.server.keep = 1
	return true, nil
}

// mismatch is unasked where something else is owed.
func (c *Conversation) mismatch(x *expectation) (bool, error) {
	if c.server.typ == 'Z' && c.doubt && x.kind != kindLogin {
		return c.unasked()
	}
	return false, fault("message %q from the server where %q is to be answered", c.server.typ, x.kind)
}
