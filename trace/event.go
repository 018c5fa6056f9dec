package trace

// Op says what kind of unit an event is. Its values are ASCII letters so that
// a hex dump stays readable; the wire packages use the same letters.
type Op byte

const (
	OpConnect  Op = 'c' // login, from the start packet to the first ReadyForQuery
	OpQuery    Op = 'q' // a Query message, however many SQL statements its text holds
	OpPrepare  Op = 'p' // a Parse without an Execute
	OpExecute  Op = 'x' // one Execute with the Parse, Bind and Describe before it
	OpFetch    Op = 'h' // a further Execute of the same suspended portal
	OpClose    Op = 'z' // a run of Close messages
	OpSync     Op = 's' // what asks for a reply but runs nothing: Sync, Flush, Bind, Describe
	OpCopy     Op = 'd' // a run of COPY data; its outcome is that of the COPY statement
	OpFunction Op = 'f' // a fast-path function call
	OpCancel   Op = 'k' // a cancel request, on a connection of its own
	OpEnd      Op = 'e' // the end of a session, with its reason if it was not a Terminate
	OpOther    Op = 'o' // a message of a kind this version does not know
)

var opNames = map[Op]string{
	OpConnect: "connect", OpQuery: "query", OpPrepare: "prepare", OpExecute: "execute", OpFetch: "fetch", OpClose: "close",
	OpSync: "sync", OpCopy: "copy", OpFunction: "function", OpCancel: "cancel", OpEnd: "end",
}

// String is the word by which an event's kind is shown and filtered.
func (o Op) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return "other"
}

// Statement tells whether events of this kind are statements, the unit of all
// counts and latencies in reports.
func (o Op) Statement() bool { return o == OpQuery || o == OpExecute }

// Status is the outcome class of an event.
type Status byte

const (
	OK       Status = iota
	Error           // the server answered with an error; Reason is its code
	Skipped         // the server would have refused it, or cannot be asked; Reason says why
	Filtered        // left out on request
	Lost            // sent, but no answer came
	Unsent          // not sent before the run ended
)

var statusNames = [...]string{"ok", "error", "skipped", "filtered", "lost", "unsent"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// Reply is what came back for an event. Durations are nanoseconds; a file
// holds them in ticks (1 µs by default).
type Reply struct {
	Took    int64  // first request byte to last reply byte
	Tail    int64  // first reply byte to last reply byte
	Rows    uint64 // rows returned or changed
	Results uint32 // SQL results inside one event: CommandComplete and EmptyQueryResponse
	Bytes   uint64 // bytes of the reply
	// Checksum is the sum of the checksums of the rows; HasChecksum tells
	// whether it was recorded.
	Checksum    uint64
	HasChecksum bool
	Status      Status
	Reason      string // SQLSTATE for Error, a word for the other classes, "" for OK
	State       byte   // transaction state afterwards: 'I', 'T', 'E', or 0 where unknown
}

// Diverged says in which ways a replayed event differs from the recorded one.
type Diverged byte

const (
	DivergedStatus Diverged = 1 << iota
	DivergedRows
	DivergedResult // the same number of rows, and not the same rows
)

// Event is one unit of traffic that gets its own reply. Session and Ordinal
// name it for life: runs are joined on that name, never on text or time.
type Event struct {
	Session uint64
	Ordinal uint64
	Start   int64 // first request byte, ns since the Unix epoch (monotonic within a segment)

	// Entry is the dictionary entry that holds the event's shape. Reader sets
	// it; Writer reads Shape, the id that Writer.Intern returned.
	Entry *Entry
	Shape uint32

	// Sizes has one element per hole: SizeNull, SizeRedacted, or SizeOf(n).
	// Values holds the contents end to end. Both are nil in a run.
	Sizes  []uint64
	Values []byte

	RequestEnd bool // the protocol flushes after this event; replay writes up to here at once
	OverLimit  bool // too large to keep: the shape is a note of the true length, not bytes

	HasReply bool // false until the reply is known (it may be in a later block)
	Reply

	HasDue   bool
	Due      int64 // when the plan wanted it out, ns since the Unix epoch; runs with a schedule only
	Diverged Diverged
}

// End is when the last reply byte came, in ns since the Unix epoch.
func (e *Event) End() int64 { return e.Start + e.Took }

// Sizes of values. NULL and redacted are sizes of their own so that a column of
// bytes needs no escapes.
const (
	SizeNull     uint64 = 0
	SizeRedacted uint64 = 1
)

// SizeOf is how a value of n bytes stands in the size column.
func SizeOf(n int) uint64 { return uint64(n) + 2 }

// Entry is one dictionary entry: the bytes of an event with its values taken
// out, and what a reader needs to understand it without knowing the protocol.
type Entry struct {
	ID      uint32
	Op      Op
	Prepare *Entry   // the entry of the event that prepared what this executes; nil if none or unknown
	Types   []uint32 // parameter types, as the server's OIDs, where known
	Holes   int
	Shape   []byte // see FORMAT.md, "Shapes"; empty in a run
	Text    string // SQL with literals replaced by 0 or ''; operation and table
}

// SQL is the statement text an event of this entry runs: its own, or that of
// the entry it resolves to.
func (e *Entry) SQL() string {
	if e.Text == "" && e.Prepare != nil {
		return e.Prepare.Text
	}
	return e.Text
}

// Gap names events that are known to be missing: lost, or left out on purpose.
type Gap struct {
	Session uint64 `json:"session"`
	First   uint64 `json:"first"` // ordinals, both included
	Last    uint64 `json:"last"`
	Start   int64  `json:"start_ns"`
	Why     string `json:"why"`
	LeftOut bool   `json:"left_out,omitempty"` // on purpose: not a loss
}

// Events is how many events the gap stands for.
func (g *Gap) Events() uint64 { return g.Last - g.First + 1 }

// State is what a session has accumulated that later events rely on. One
// stands at the start of each session and, for live sessions, of each segment.
type State struct {
	Session     uint64            `json:"session"`
	Ordinal     uint64            `json:"ordinal"` // of the session's next event
	Start       int64             `json:"start_ns"`
	Database    string            `json:"database"`
	User        string            `json:"user"`
	Settings    map[string]string `json:"settings,omitempty"`    // as sent at connect
	Sets        [][]byte          `json:"sets,omitempty"`        // SET statements in force, oldest first
	Uncommitted [][]byte          `json:"uncommitted,omitempty"` // the same of the transaction that is open
	Transaction string            `json:"transaction"`           // idle, open, failed
	Statements  []Prepared        `json:"statements,omitempty"`
	Pending     []Pending         `json:"pending,omitempty"`
	Omitted     int               `json:"omitted,omitempty"` // statements left out for their size
	Loop        int               `json:"loop,omitempty"`    // of a run that went through its source several times, see LoopSession
}

// Pending is an event before the state that may change it and whose reply is not
// known: if it succeeds, what it does comes on top.
type Pending struct {
	Ordinal uint64 `json:"ordinal"`
	Message []byte `json:"message"` // the request bytes
}

// Prepared is a prepared statement that is alive in a session.
type Prepared struct {
	Name    []byte `json:"name"`
	Message []byte `json:"message"` // the request bytes that prepared it
	Ordinal uint64 `json:"ordinal"` // of the event that prepared it
}
