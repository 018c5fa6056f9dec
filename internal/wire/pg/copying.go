package pg

// copying is what the server's COPY does to the pairing of messages: while it
// reads data it ignores Sync and Flush, which a client that did not know yet
// that its statement was a COPY may have sent with it.
type copying struct {
	copyIn   bool   // the server reads data, or did and has not said how it ended
	copyOpen bool   // the client has not ended the data yet
	copier   uint64 // the event whose statement is the COPY
	ignored  int    // Syncs ignored
	// doubt: a COPY failed that had ignored a Sync, so at least we think. Had
	// it failed before it read any message (a trigger), that Sync was
	// answered after all.
	doubt   bool
	phantom bool // the message at hand is that Sync's ReadyForQuery
}

// copyBegins: CopyInResponse has come for the statement at the queue's front.
func (c *Conversation) copyBegins(event uint64) {
	c.copyIn, c.copyOpen, c.copier, c.ignored = true, true, event, 0
	for i := c.owed.head + 1; i != c.owed.tail; i++ {
		switch x := c.owed.at(i); x.kind {
		case 'S':
			x.kind = kindVoid
			c.events.at(x.event).waiting--
			c.void(x.event)
		case kindDataEnd:
			x.kind = kindVoid
			c.copyOpen = false
			return
		}
	}
}

// void forgets a Sync of an event. If that is the COPY's own, the event ends
// with the next ReadyForQuery: the commit is part of it.
func (c *Conversation) void(event uint64) {
	c.ignored++
	if event == c.copier {
		c.events.at(event).borrows = true
	}
}

// dataEnds: the client has ended its data.
func (c *Conversation) dataEnds() {
	switch {
	case c.copyOpen:
		c.copyOpen = false
	case !c.skipping: // perhaps for a COPY that has not begun yet
		*c.owed.add() = expectation{kind: kindDataEnd}
	}
}

// copyEnds: the COPY's statement is complete, or has failed.
func (c *Conversation) copyEnds(failed bool) {
	if !c.copyIn {
		return
	}
	c.doubt = failed && c.ignored > 0
	c.copyIn, c.copyOpen = false, false
}

// repay ends the event that waits for a ReadyForQuery of another one. It can
// only be the oldest.
func (c *Conversation) repay(now int64) {
	if c.events.len() == 0 {
		return
	}
	if e := c.events.front(); e.borrows {
		e.borrows, e.done = false, now
	}
}
