package trace

// columns are the raw columns of one event or reply block.
type columns struct {
	count, runs int
	first, last int64 // ticks
	lanes       uint64
	session     uint64 // of the last run

	sessions, events, ordinals                   []byte
	gap, took, shape, size, value                []byte
	rows, bytes, status, state, tail, due, flags []byte
	results, reason, diverged, checksum          []byte
}

func (c *columns) reset() {
	*c = columns{
		sessions: c.sessions[:0], events: c.events[:0], ordinals: c.ordinals[:0],
		gap: c.gap[:0], took: c.took[:0], shape: c.shape[:0], size: c.size[:0], value: c.value[:0],
		rows: c.rows[:0], bytes: c.bytes[:0], status: c.status[:0], state: c.state[:0], tail: c.tail[:0],
		due: c.due[:0], flags: c.flags[:0], results: c.results[:0], reason: c.reason[:0], diverged: c.diverged[:0],
		checksum: c.checksum[:0],
	}
}

// run begins a run of consecutive ordinals of one session.
func (c *columns) run(session, ordinal uint64) {
	c.sessions = appendUvarint(c.sessions, session-c.session)
	c.ordinals = appendUvarint(c.ordinals, ordinal)
	c.session = session
	c.lanes |= lane(session)
	c.runs++
}

func (c *columns) endRun(n int) { c.events = appendUvarint(c.events, uint64(n)) }

// outcome appends what is measured of one reply. took is kept by the caller.
func (c *columns) outcome(o *outcome, d *dictionary) {
	c.took = appendUvarint(c.took, uint64(o.took+1))
	c.tail = appendUvarint(c.tail, uint64(o.tail))
	c.rows = appendUvarint(c.rows, o.rows)
	c.bytes = appendUvarint(c.bytes, o.bytes)
	c.results = appendUvarint(c.results, uint64(o.results))
	c.status = appendUvarint(c.status, uint64(o.status))
	c.state = appendUvarint(c.state, uint64(o.state))
	c.reason = appendUvarint(c.reason, uint64(d.reason(o.reason)))
	c.checksum = appendUvarint(c.checksum, o.checksum)
}

func (c *columns) span(t int64) {
	if c.count == 0 {
		c.first, c.last = t, t
	}
	c.first, c.last = min(c.first, t), max(c.last, t)
	c.count++
}

// encodeOutcomes adds the columns that events and late replies share.
func (c *columns) encodeOutcomes(b *body, o *WriterOptions) {
	b.numbers(colSession, c.sessions)
	b.numbers(colEvents, c.events)
	b.numbers(colOrdinal, c.ordinals)
	b.numbers(colTook, c.took)
	b.numbers(colShape, c.shape)
	b.numbers(colRows, c.rows)
	b.numbers(colBytes, c.bytes)
	b.numbers(colStatus, c.status)
	b.numbers(colState, c.state)
	b.numbers(colTail, c.tail)
	b.numbers(colResults, c.results)
	b.numbers(colReason, c.reason)
	if o.Checksums {
		b.numbers(colChecksum, c.checksum)
	}
}

// gather turns the rows of the open block into columns, session by session.
func (c *columns) gather(o *openBlock, d *dictionary) {
	c.reset()
	for i := range o.rows {
		c.span(o.rows[i].start)
	}
	for _, s := range o.active {
		c.gatherSession(s, o, d)
	}
}

func (c *columns) gatherSession(s *session, o *openBlock, d *dictionary) {
	n := 0
	var before int64 // end of the previous event of the run
	var ordinal uint64
	for i := s.head; i >= 0; i = o.rows[i].next {
		r := &o.rows[i]
		if n == 0 || r.ordinal != ordinal+1 {
			if n > 0 {
				c.endRun(n)
			}
			c.run(s.id, r.ordinal)
			n, before = 0, c.first
		}
		c.gap = appendUvarint(c.gap, zigzag(r.start-before))
		before = r.start + max(r.took, 0)
		ordinal = r.ordinal
		n++
		c.outcome(&r.outcome, d)
		c.shape = appendUvarint(c.shape, uint64(r.shape))
		c.flags = appendUvarint(c.flags, uint64(r.flags))
		c.due = appendUvarint(c.due, r.due)
		c.diverged = appendUvarint(c.diverged, uint64(r.diverged))
		c.size = append(c.size, o.sizes[r.sizes:r.sizesEnd]...)
		c.value = append(c.value, o.values[r.values:r.valueEnd]...)
	}
	c.endRun(n)
}

// encodeEvents adds all columns of an event block. Values stand first: a file
// that is cut off after a block must not end with bytes that a client chose,
// which could be those of an index.
func (c *columns) encodeEvents(b *body, o *WriterOptions) {
	if !o.NoValues {
		b.numbers(colSize, c.size)
		b.bytes(colValue, c.value)
	}
	c.encodeOutcomes(b, o)
	b.numbers(colGap, c.gap)
	b.numbers(colFlags, c.flags)
	if o.Due {
		b.numbers(colDue, c.due)
	}
	if o.Diverged {
		b.numbers(colDiverged, c.diverged)
	}
}

// columnNames are the names of event columns, for the header.
func columnNames(o WriterOptions) []string {
	names := []string{
		"session", "events", "ordinal", "gap", "took", "shape", "rows", "bytes", "status",
		"state", "tail", "results", "reason", "flags",
	}
	if o.Due {
		names = append(names, "due")
	}
	if o.Diverged {
		names = append(names, "diverged")
	}
	if o.Checksums {
		names = append(names, "checksum")
	}
	if !o.NoValues {
		names = append(names, "size", "value")
	}
	return names
}
