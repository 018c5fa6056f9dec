package replay

import (
	"github.com/retrace-db/retrace/internal/wire/sqltext"
	"github.com/retrace-db/retrace/trace"
)

// extent finds out where the transactions of a recorded session start and end;
// the reader keeps one per live session. A statement outside of BEGIN and COMMIT
// is a transaction too. What is pipelined before the reply is known that ends a
// transaction counts as a part of it.
type extent struct {
	open    bool
	entered bool // a statement was sent that sees data
	writes  bool // others may see what it did
	undone  bool // the last statement takes everything back
	synced  bool // the last event asked for the end of an implicit transaction
	waiting int  // events without a reply
}

// began tells how an extent begins for a session in the middle.
func (x *extent) began(transaction string) {
	x.open = transaction == "open" || transaction == "failed"
	x.entered, x.writes = x.open, x.open
}

// event takes an event, and tells whether it has to wait for other transactions:
// those that had committed when it was sent are over before a transaction
// begins, and again before its first statement that sees data.
func (x *extent) event(e *trace.Event, k *knowledge, synced bool) (gated bool) {
	switch op := e.Entry.Op; op {
	case trace.OpQuery, trace.OpExecute, trace.OpPrepare, trace.OpFunction:
		gated = !x.entered
		if !x.open {
			*x = extent{open: true, waiting: x.waiting}
		}
		x.entered = x.entered || !k.prefatory
		if op != trace.OpPrepare {
			x.writes = x.writes || k.access != sqltext.Reads
			x.undone = k.undoes
		}
	case trace.OpSync, trace.OpFetch, trace.OpCopy, trace.OpClose:
	default:
		return false
	}
	x.waiting++
	x.synced = synced
	return gated
}

// reply takes the reply to an event, and tells whether a transaction ended with
// it that others may have to wait for.
func (x *extent) reply(status trace.Status, state byte) (committed bool) {
	x.waiting = max(x.waiting-1, 0)
	if !x.open || x.waiting > 0 || !x.synced || state != 'I' {
		return false
	}
	committed = x.writes && !x.undone && status != trace.Error
	*x = extent{}
	return committed
}

// begins notes where an event that is about to be queued begins a transaction,
// and where its reply, if it is known, ends one.
func (src *source) begins(s *session, e *trace.Event, r *record) {
	o := src.p.order
	if o == nil || e.Entry.Op == trace.OpConnect || e.Entry.Op == trace.OpEnd {
		return
	}
	if s.extent.event(e, src.know(e.Entry), s.extent.syncs(e, r.bytes)) {
		r.flags |= flagGate
		o.mark(&s.turn, e.Start, false)
	}
	if e.HasReply {
		src.ends(s, r, e.End())
	}
}

// ends notes where a recorded reply ended a transaction.
func (src *source) ends(s *session, r *record, at int64) {
	if src.p.order != nil && s.extent.reply(r.status, r.state) {
		r.flags |= flagCommit
		src.p.order.mark(&s.turn, at, true)
	}
}

// syncs tells whether the server ends an implicit transaction with the reply to
// an event.
func (x *extent) syncs(e *trace.Event, bytes []byte) bool {
	switch op := e.Entry.Op; {
	case op == trace.OpQuery, op == trace.OpFunction, e.OverLimit:
		return true
	case op == trace.OpCopy && x.synced:
		return true
	}
	return lastType(bytes) == 'S'
}
