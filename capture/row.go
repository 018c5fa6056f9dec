package capture

import (
	"github.com/retrace-db/retrace/internal/wire/pg"
)

// rowKind says which call of a pg.Sink a row stands for, or what else the
// encoder must know.
type rowKind uint8

const (
	rowStarted rowKind = iota
	rowRequest
	rowReply
	rowPrepared
	rowDeallocated
	rowSets
	rowFault
	rowCancel
	rowGap
	rowLeft   // from here on the session is left out
	rowJoined // it is recorded (again) from this ordinal on
	rowEnded  // nothing more comes from this session
)

// row flags
const (
	flagRequestEnd = 1 << iota
	flagOverLimit
	flagAll     // Deallocated: all statements with a name
	flagLeftOut // Started: the session is left out for now; Gap: it was on purpose
	flagChanges // the request may change what its session has accumulated
)

// row is what a tap tells the encoder. It is one type for all kinds so that a
// stripe is one slice and a row costs no allocation; what a field means depends
// on the kind.
type row struct {
	kind    rowKind
	op      pg.Op
	flags   uint8
	state   byte
	outcome pg.Outcome
	results uint32
	name    uint32 // length of the name at the front of data

	life    *life // the session, as the encoder keeps it
	ordinal uint64
	prepare uint64 // in a gap: its last ordinal; in a cancel: the target's ordinal
	at      int64  // start of a request, first byte of a reply
	done    int64
	size    uint64 // true length of a request, bytes of a reply; in a cancel: the target session
	rows    uint64

	checksum uint64

	data    []byte // in the stripe's pages
	reason  string
	startup *pg.Startup
}

// rowCost is what a row is taken to weigh in the queue, beside its data.
const rowCost = 128

func requestRow(l *life, r *pg.Request) row {
	w := row{
		kind: rowRequest, life: l, op: r.Op, ordinal: r.Ordinal, prepare: r.Prepare,
		at: r.Start, size: r.Size, data: r.Bytes,
	}
	if r.RequestEnd {
		w.flags |= flagRequestEnd
	}
	if r.Changes {
		w.flags |= flagChanges
	}
	if r.OverLimit {
		// All that is left of the event is the beginning of its text.
		w.flags |= flagOverLimit
		w.data = r.Text
	}
	return w
}

func replyRow(l *life, r *pg.Reply) row {
	return row{
		kind: rowReply, life: l, ordinal: r.Ordinal, prepare: r.Prepare, at: r.First, done: r.Done,
		rows: r.Rows, results: r.Results, size: r.Bytes, checksum: r.Checksum, outcome: r.Outcome, reason: r.Reason, state: r.State,
	}
}
