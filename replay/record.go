package replay

import (
	"encoding/binary"

	"github.com/retrace-db/retrace/trace"
)

// kind of a record in a session's queue.
type kind byte

const (
	kindEvent   kind = iota + 1
	kindLate         // the recorded reply of an event queued before
	kindRestore      // messages that bring the session to a recorded state
	kindCancel       // a cancel request aimed at an event queued before
)

// record is one item of a session's queue: what the player needs of an event,
// laid out flat so that it can lie in memory or in the spill file.
type record struct {
	kind    kind
	op      trace.Op
	status  trace.Status // recorded
	state   byte         // recorded transaction state afterwards
	flags   recordFlags
	end     ending
	ordinal uint64
	session uint64 // of the cancel request
	start   int64  // recorded
	when    int64  // the pace's, see pace.stamp
	settled uint64 // events with a smaller ordinal had their replies when this was sent
	rows    uint64 // recorded
	sum     uint64 // recorded checksum of the result, with flagSum
	shape   entryRef
	bytes   []byte // valid until the queue moves on

	entry *trace.Entry // of shape, once consumed
}

type recordFlags byte

const (
	flagRequestEnd recordFlags = 1 << iota
	flagReplied                // status, state and rows are the recorded ones
	flagSkip                   // not to be sent; end says why
	flagGate                   // transactions of other sessions come first, see order
	flagCommit                 // its reply ended a transaction that others wait for
	flagSum                    // sum is the recorded one
)

// ending says how a recorded session ended, or why an event is not sent.
type ending byte

const (
	endNone ending = iota
	endTerminate
	endClient // the client went away without a word
	endServer // the server ended it
	skipRedacted
	skipOverLimit
	skipNotReplayable
	skipUnreadable
	skipPartial // of a transaction that began before the trace
	omitOnly    // left out on request
	omitSkip
	omitReadOnly
	omitDangerous
)

var endingWords = [...]string{
	endClient: "client_gone", endServer: "server_gone",
	skipRedacted: "redacted", skipOverLimit: "over_limit", skipNotReplayable: "not_replayable", skipUnreadable: "unreadable",
	skipPartial: "partial_transaction",
	omitOnly:    "only", omitSkip: "skip", omitReadOnly: "read_only", omitDangerous: "dangerous",
}

func (e ending) String() string { return endingWords[e] }

// whenAt is where in an encoded record the pace's stamp is.
const whenAt = 52

// replied takes the recorded reply.
func (r *record) replied(l *trace.Reply) {
	r.flags |= flagReplied
	r.status, r.state, r.rows = l.Status, l.State, l.Rows
	if l.HasChecksum {
		r.flags, r.sum = r.flags|flagSum, l.Checksum
	}
}

// recordHeader is the size of a record without its bytes.
const recordHeader = 4 + 6 + 2 + 8*6 + 8

func (r *record) size() int { return r.head() + len(r.bytes) }

// head is the size of all but the bytes: a trace without checksums has no room
// for them.
func (r *record) head() int {
	if r.flags&flagSum != 0 {
		return recordHeader + 8
	}
	return recordHeader
}

// encode appends the record, its own length first.
func (r *record) encode(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, uint32(r.size()))
	dst = append(dst, byte(r.kind), byte(r.op), byte(r.status), r.state, byte(r.flags), byte(r.end), 0, 0)
	dst = le.AppendUint64(dst, r.ordinal)
	dst = le.AppendUint64(dst, r.session)
	dst = le.AppendUint64(dst, uint64(r.start))
	dst = le.AppendUint64(dst, r.settled)
	dst = le.AppendUint64(dst, r.rows)
	dst = le.AppendUint64(dst, uint64(r.when))
	dst = le.AppendUint32(dst, r.shape.epoch)
	dst = le.AppendUint32(dst, r.shape.slot)
	if r.flags&flagSum != 0 {
		dst = le.AppendUint64(dst, r.sum)
	}
	return append(dst, r.bytes...)
}

// recordLength is the whole length of the record at the start of b, or 0 where
// b is too short to tell.
func recordLength(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b))
}

// decode reads the whole record that b begins with; its bytes stay b's.
func (r *record) decode(b []byte) {
	le := binary.LittleEndian
	n := le.Uint32(b)
	r.kind, r.op, r.status, r.state = kind(b[4]), trace.Op(b[5]), trace.Status(b[6]), b[7]
	r.flags, r.end = recordFlags(b[8]), ending(b[9])
	r.ordinal = le.Uint64(b[12:])
	r.session = le.Uint64(b[20:])
	r.start = int64(le.Uint64(b[28:]))
	r.settled = le.Uint64(b[36:])
	r.rows = le.Uint64(b[44:])
	r.when = int64(le.Uint64(b[whenAt:]))
	r.shape.epoch = le.Uint32(b[60:])
	r.shape.slot = le.Uint32(b[64:])
	r.sum = 0
	if r.flags&flagSum != 0 {
		r.sum = le.Uint64(b[recordHeader:])
	}
	r.bytes = b[r.head():n:n]
}
