package replay

import (
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// flight is an event from the moment its fate is being decided until its
// outcome is counted.
type flight struct {
	ordinal uint64
	op      trace.Op
	entry   *trace.Entry
	leads   bool // first of its request: the one that a schedule is measured by
	last    bool // of its request

	start int64 // recorded
	due   int64 // 0 where its session being free is all it waits for
	free  int64 // when the session could have sent it
	sent  int64

	// Of the recording, once known.
	replied bool
	was     trace.Status
	wasRows uint64
	wasSum  uint64
	summed  bool // wasSum is known
	state   byte
	commits bool // ended a transaction that others wait for

	// Of this replay, once done.
	done     bool
	status   trace.Status
	reason   string
	took     int64
	tail     int64
	rows     uint64
	sum      uint64 // checksum of the result
	checked  bool   // sum was compared with the recorded one
	results  uint32
	bytes    uint64
	after    byte // transaction state
	diverged trace.Diverged

	spoiled ending // of a COPY: why some of its data could not be sent

	parse []byte // its Parse, where that names a statement others may execute
}

// recorded takes the recorded reply.
func (f *flight) recorded(r *record) {
	f.replied, f.was, f.wasRows, f.state = true, r.status, r.rows, r.state
	f.commits = r.flags&flagCommit != 0
	f.wasSum, f.summed = r.sum, r.flags&flagSum != 0
}

// answered takes the reply of this replay.
func (f *flight) answered(r *pg.Reply) {
	f.done = true
	f.took, f.tail = max(r.Done-f.sent, 0), max(r.Done-r.First, 0)
	f.rows, f.results, f.bytes, f.after = r.Rows, r.Results, r.Bytes, r.State
	f.sum = r.Checksum
	switch r.Outcome {
	case pg.OK:
		f.status = trace.OK
	case pg.Failed:
		f.status = trace.Error
	case pg.Skipped:
		f.status = trace.Skipped
	default:
		f.status = trace.Lost
	}
	f.reason = r.Reason
	if f.spoiled != endNone && f.status == trace.Error {
		f.status, f.reason = trace.Skipped, f.spoiled.String()
	}
}

// ended gives an event that was not sent, or is not to be answered, its outcome.
func (f *flight) ended(s trace.Status, reason string, now int64) {
	f.done, f.status, f.reason = true, s, reason
	if f.sent == 0 {
		f.sent = now
	}
	f.took = now - f.sent
}

// attempted tells whether the outcome says something about the target: an
// event that was never meant to be sent differs from the recording in nothing
// the target did.
func (f *flight) attempted() bool {
	switch f.status {
	case trace.OK, trace.Error, trace.Lost:
		return true
	case trace.Skipped:
		switch f.reason {
		case skipRedacted.String(), skipOverLimit.String(), skipNotReplayable.String(), skipUnreadable.String(), skipPartial.String():
			return false
		}
		return true
	}
	return false
}

// comparable tells whether there are two outcomes to compare. How a session
// ended and whether a cancel was in time are not outcomes of the target.
func (f *flight) comparable() bool {
	if f.op == trace.OpEnd || f.op == trace.OpCancel || !f.replied || !f.attempted() {
		return false
	}
	return f.was == trace.OK || f.was == trace.Error || f.was == trace.Skipped
}

// compare finds in which ways the outcome differs from the recorded one. Where
// the number of rows differs, so does the result, and that says nothing new.
func (f *flight) compare(check bool) {
	switch {
	case !f.comparable():
	case f.status != f.was:
		f.diverged = trace.DivergedStatus
	case f.status == trace.OK && f.rows != f.wasRows:
		f.diverged = trace.DivergedRows
	case f.status == trace.OK && check && f.summed:
		f.checked = true
		if f.sum != f.wasSum {
			f.diverged = trace.DivergedResult
		}
	}
}

// row is the flight as the run has it.
func (f *flight) row(session uint64, kind rowKind) row {
	return row{
		kind: kind, last: f.last, op: f.op, session: session, ordinal: f.ordinal,
		start: f.sent, due: f.due, entry: f.entry, diverged: f.diverged,
		reply: trace.Reply{
			Took: f.took, Tail: f.tail, Rows: f.rows, Results: f.results, Bytes: f.bytes, Checksum: f.sum,
			Status: f.status, Reason: f.reason, State: f.after,
		},
	}
}

// ring holds the flights of a session in the order of their events.
type ring struct {
	slots       []flight // a power of two
	first, n    int
	pendingFrom int // flights before it, counted from first, are done
}

func (r *ring) at(i int) *flight { return &r.slots[(r.first+i)&(len(r.slots)-1)] }

// push makes room for one more.
func (r *ring) push() *flight {
	if r.n == len(r.slots) {
		r.grow()
	}
	r.n++
	f := r.at(r.n - 1)
	*f = flight{}
	return f
}

func (r *ring) grow() {
	slots := make([]flight, max(4, 2*len(r.slots)))
	for i := range r.n {
		slots[i] = *r.at(i)
	}
	r.slots, r.first = slots, 0
}

// pop drops the first.
func (r *ring) pop() {
	*r.at(0) = flight{} // it holds pointers
	r.first = (r.first + 1) & (len(r.slots) - 1)
	r.n--
	r.pendingFrom = max(r.pendingFrom-1, 0)
}

// find is the flight of an event, or nil. Replies come nearly in order.
func (r *ring) find(ordinal uint64, from int) *flight {
	for i := from; i < r.n; i++ {
		if f := r.at(i); f.ordinal == ordinal {
			return f
		} else if f.ordinal > ordinal {
			break
		}
	}
	return nil
}

// pending is the first flight that is not done, or nil.
func (r *ring) pending() *flight {
	for r.pendingFrom < r.n && r.at(r.pendingFrom).done {
		r.pendingFrom++
	}
	if r.pendingFrom == r.n {
		return nil
	}
	return r.at(r.pendingFrom)
}
