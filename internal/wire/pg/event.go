package pg

// Op says what kind of unit an event is; the letters are those of the trace
// format (trace/FORMAT.md).
type Op byte

const (
	OpConnect  Op = 'c'
	OpQuery    Op = 'q'
	OpPrepare  Op = 'p'
	OpExecute  Op = 'x'
	OpFetch    Op = 'h'
	OpClose    Op = 'z'
	OpSync     Op = 's'
	OpCopy     Op = 'd'
	OpFunction Op = 'f'
	OpCancel   Op = 'k'
	OpEnd      Op = 'e'
	OpOther    Op = 'o'
)

// Outcome is how an event ended.
type Outcome byte

const (
	OK Outcome = iota
	Failed
	Skipped // the server discarded it after an error earlier in the pipeline
	Lost    // the session ended before its reply
)

// NoPrepare stands where an event executes nothing prepared, or something
// whose Parse was never seen.
const NoPrepare = ^uint64(0)

// Request is one event as the client sent it.
type Request struct {
	Ordinal    uint64
	Op         Op
	Start      int64  // when its first byte was read
	Bytes      []byte // whole messages, valid during the call; nil when OverLimit, and for OpConnect
	Size       uint64 // true length
	RequestEnd bool   // Sync, Flush, Query, FunctionCall or Terminate ends it
	OverLimit  bool
	Text       []byte // SQL of its Query or Parse (a prefix if OverLimit), valid during the call
	Parses     bool   // holds a Parse
	Changes    bool   // it may change the session's prepared statements or settings
	Prepare    uint64 // ordinal of the event whose Parse it executes (its own included), or NoPrepare
}

// Reply is the server's answer to one event.
type Reply struct {
	Ordinal uint64
	First   int64 // first reply byte; equals Done where there was no reply
	Done    int64
	Rows    uint64
	Results uint32
	Bytes   uint64
	// Checksum is the sum of the checksums of its rows, whatever their order;
	// 0 if none were asked for.
	Checksum uint64
	Outcome  Outcome
	Reason   string // SQLSTATE, or a word
	State    byte   // transaction state: 'I', 'T', 'E', or 0 before the first ReadyForQuery
	Prepare  uint64 // as Request.Prepare, now in server order
}

// Sink receives what a Conversation understands. Calls come in wire order, on
// the goroutine that fed the bytes.
type Sink interface {
	// Started comes before every other call of a conversation that saw the login.
	Started(Startup)
	// Request comes when the event is whole, before its Reply.
	Request(*Request)
	// Reply comes when the last byte of the answer is known to be the last.
	Reply(*Reply)
	// Prepared: the server accepted a Parse. name and message are valid during the call.
	Prepared(name []byte, ordinal uint64, message []byte)
	// Deallocated: the server dropped a statement; nil means all that have a name.
	Deallocated(name []byte)
	// Sets: other SET statements are in force in the session, oldest first. Those
	// in open will be once their transaction is committed. They stay valid.
	Sets(inForce, open [][]byte)
	// Setting: the server reported a parameter.
	Setting(name, value string)
}
