package pg

// Running is the ordinal of the event that the server is at, the oldest without
// a complete reply; that of the newest event if there is none.
func (c *Conversation) Running() uint64 {
	if c.events.len() > 0 {
		return c.events.front().ordinal
	}
	return c.LastOrdinal()
}
