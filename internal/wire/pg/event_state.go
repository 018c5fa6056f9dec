package pg

// What messages an event holds.
const (
	hasParse = 1 << iota
	hasBind
	hasDescribe
	hasExecute
	hasClose
	hasSync
	hasFlush
	hasQuery
	hasFunction
	hasData    // CopyData, CopyDone or CopyFail
	hasDataEnd // CopyDone or CopyFail
	hasTerminate
)

// pending is an event that is still being read or whose reply is incomplete.
type pending struct {
	ordinal     uint64
	start       int64
	first, done int64
	bytes       uint64
	rows        uint64 // by command tags
	counted     uint64 // DataRows since the last tag
	checksum    uint64 // of its rows
	prepare     uint64
	reason      string
	effects     []effect // of a Query's statements, those not met yet
	waiting     int32    // expectations not met
	results     uint32
	has         uint16
	outcome     Outcome
	replied     bool // a reply message has come
	closed      bool // the request is whole
	borrows     bool // its Sync was ignored by a COPY: it ends with the next ReadyForQuery
}

// reply notes a message of n bytes that began at start.
func (e *pending) reply(start int64, n int) {
	if !e.replied {
		e.replied, e.first = true, start
	}
	e.bytes += uint64(n)
}

// fail notes an outcome; the first one stays.
func (e *pending) fail(o Outcome, reason string) {
	if e.outcome == OK {
		e.outcome, e.reason = o, reason
	}
}

// complete: every answer is in and the request whole.
func (e *pending) complete() bool { return e.closed && e.waiting == 0 && !e.borrows }

// expectation is an answer the server owes. Its kind is the type of the
// message that asked for it.
type expectation struct {
	kind  byte
	bare  bool  // of a Parse: only the name was kept
	n1    uint8 // length of the name: a statement's, or a Bind's and Execute's portal's
	n2    uint8 // length of a Bind's statement name
	size  uint32
	event uint64
	at    uint64 // where its bytes are
}

// Kinds that no frontend message has.
const (
	kindVoid    = 0   // nothing is owed any more
	kindLogin   = 'l' // everything up to the first ReadyForQuery
	kindDataEnd = 'c' // nothing owed: marks where the client ended a COPY
)
