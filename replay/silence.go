package replay

import "sync/atomic"

// silence cuts the recorded stretches in which nothing happened to a length, and
// counts what it cut. With no length it cuts nothing.
type silence struct {
	longest int64

	cuts atomic.Uint64
	cut  atomic.Int64 // recorded time, in all

	// Of all sessions together, in the recorded order; the reader's.
	begun   bool
	until   int64 // something ran until then
	running int   // sessions with a request that has no reply yet
}

// shorten is a pause of a session, no longer than allowed.
func (q *silence) shorten(pause int64) int64 {
	if q.longest == 0 || pause <= q.longest {
		return pause
	}
	q.cuts.Add(1)
	q.cut.Add(pause - q.longest)
	return q.longest
}

// pass takes the next moment, and returns its start less all that was cut before.
func (q *silence) pass(m *moment) int64 {
	if m.op != 0 {
		if q.begun && q.running == 0 {
			q.shorten(m.start - q.until)
		}
		q.begun = true
		q.until = max(q.until, m.start)
	}
	q.running += m.running
	q.until = max(q.until, m.end)
	return m.start - q.cut.Load()
}
