package pg

import "slices"

// DefaultLimit is how many bytes of one event are kept.
const DefaultLimit = 1 << 20

// Options of a Conversation.
type Options struct {
	Limit    int    // bytes of one event that are kept; default DefaultLimit
	LoggedIn bool   // begin after the login, where the session is idle
	Ordinal  uint64 // of the next event, with LoggedIn
	Checksum bool   // make checksums of results
}

// Conversation follows one session: it is fed copies of the bytes of both
// directions and tells its Sink what they mean. It belongs to one goroutine at
// a time.
//
// Requests and replies meet in a queue: each frontend message that will be
// answered leaves an expectation there, each backend message that answers
// meets the first one. Backend bytes may be fed before the frontend bytes they
// answer (two pumps race): they wait.
type Conversation struct {
	sink  Sink
	limit int
	err   error // the fault that ended it

	// the client's side
	phase   phase
	next    uint64 // ordinal of the next event
	client  reader // of the start packet, then of messages
	answers int    // single bytes owed for SSLRequest and GSSENCRequest
	request        // the event being read

	// what is owed
	events ring[pending]
	owed   ring[expectation]
	kept   bytesRing

	// the server's side
	server   reader
	stage    stage
	waiting  bool  // the message at hand answers something not read yet
	waitedAt int64 // when it came
	held     held
	rows     rowSum
	state    byte
	login    bool // until the first ReadyForQuery
	skipping bool // the server discards messages up to a Sync not read yet
	failedAt int64
	fatal    string // SQLSTATE that ended the session
	pid      uint32
	key      []byte
	copying

	settings settings

	truth, guess names
	renamed      []string // names of which guess may differ from truth
	dirty        bool     // something failed: guess must be made from truth when nothing is pending

	req Request
	rep Reply
}

type phase byte

const (
	starting phase = iota
	talking
	ended // by Terminate
	closed
)

// NewConversation begins a session.
func NewConversation(sink Sink, o Options) *Conversation {
	c := &Conversation{sink: sink, limit: o.Limit, truth: newNames(), guess: newNames(), login: true}
	c.rows.wanted = o.Checksum
	if c.limit <= 0 {
		c.limit = DefaultLimit
	}
	if o.LoggedIn {
		c.phase, c.login, c.state, c.next = talking, false, 'I', o.Ordinal
	}
	return c
}

// Checksum makes checksums of results from here on, or no more. Nothing may be
// pending.
func (c *Conversation) Checksum(on bool) { c.rows.wanted = on }

// Client takes bytes the client sent, read at now; any split of the stream
// will do. An error means that the stream cannot be followed any further: the
// sink hears nothing more and every further call returns the error again.
func (c *Conversation) Client(b []byte, now int64) error {
	if c.err == nil {
		c.err = c.readClient(b, now)
	}
	if c.err == nil && c.waiting {
		c.err = c.release()
	}
	return c.err
}

// Server takes bytes the server sent. See Client.
func (c *Conversation) Server(b []byte, now int64) error {
	if c.err == nil {
		c.err = c.readServer(b, now)
	}
	return c.err
}

// Send takes exactly one event of whole messages that the caller sends, under
// the name the caller gives it.
func (c *Conversation) Send(ordinal uint64, b []byte, now int64) error {
	if c.err == nil {
		c.err = c.send(ordinal, b, now)
	}
	if c.err == nil && c.waiting {
		c.err = c.release()
	}
	return c.err
}

// Close ends the session. What is unanswered is lost; a session that was not
// terminated by its client gets its end event, with the reason (or the
// server's own, if it said one).
func (c *Conversation) Close(now int64, reason string) { c.End(c.next, now, reason) }

// End is Close with the end event's ordinal given.
func (c *Conversation) End(ordinal uint64, now int64, reason string) {
	started := c.phase == talking || c.phase == ended
	terminated := c.phase == ended
	c.phase = closed
	if c.err != nil || !started {
		return
	}
	if c.fatal != "" {
		reason = c.fatal
	}
	if c.open {
		c.closeEvent(false)
	}
	c.lose(now, reason)
	if !terminated {
		c.end(ordinal, now, reason)
	}
}

// lose gives every pending event its reply.
func (c *Conversation) lose(now int64, reason string) {
	for c.events.len() > 0 {
		e := c.events.front()
		if e.outcome == OK {
			e.fail(Lost, reason)
			e.done = now
		}
		c.answer(e)
		c.events.head++
	}
}

// end makes the end event of a session that nobody terminated.
func (c *Conversation) end(ordinal uint64, now int64, reason string) {
	c.req = Request{Ordinal: ordinal, Op: OpEnd, Start: now, RequestEnd: true, Prepare: NoPrepare}
	c.sink.Request(&c.req)
	c.rep = Reply{Ordinal: ordinal, First: now, Done: now, Reason: reason, State: c.state, Prepare: NoPrepare}
	c.sink.Reply(&c.rep)
}

// TransactionState is what the last ReadyForQuery said: 'I', 'T', 'E', or 0
// before the first.
func (c *Conversation) TransactionState() byte { return c.state }

// Pending counts the events whose reply is not complete, the one being read
// included.
func (c *Conversation) Pending() int { return c.events.len() }

// Idle: nothing half read, nothing pending, no transaction open.
func (c *Conversation) Idle() bool {
	return c.err == nil && c.phase == talking && c.state == 'I' && c.events.len() == 0 &&
		c.client.idle() && c.server.idle() && !c.waiting
}

// CopyIn: the server is in the middle of a COPY FROM STDIN.
func (c *Conversation) CopyIn() bool { return c.copyIn }

// CopyOpen: the server waits for data of a COPY FROM STDIN.
func (c *Conversation) CopyOpen() bool { return c.copyIn && c.copyOpen }

// Key is the cancel key the server gave; nil if it gave none.
func (c *Conversation) Key() (pid uint32, key []byte) { return c.pid, slices.Clone(c.key) }

// LastOrdinal is that of the newest event, whole or not.
func (c *Conversation) LastOrdinal() uint64 { return max(c.next, 1) - 1 }
