package pg

// Options of a Conversation.
type Options struct {
	Limit    int    // bytes of one event that are kept; default 1 MiB
	LoggedIn bool   // begin after the login
	Ordinal  uint64 // of the next event, with LoggedIn
}

// Conversation follows one session.
type Conversation struct{ sink Sink }

// NewConversation begins a session.
func NewConversation(sink Sink, o Options) *Conversation { return &Conversation{sink: sink} }

// Client takes bytes the client sent; any split of the stream will do.
func (c *Conversation) Client(b []byte, now int64) error { return nil }

// Server takes bytes the server sent.
func (c *Conversation) Server(b []byte, now int64) error { return nil }

// Send takes exactly one event that the caller sent, and its name.
func (c *Conversation) Send(ordinal uint64, b []byte, now int64) error { return nil }

// Close ends the session: what is unanswered is lost.
func (c *Conversation) Close(now int64, reason string) {}

// End is Close with the ordinal of the end event given.
func (c *Conversation) End(ordinal uint64, now int64, reason string) {}

// TransactionState is what the last ReadyForQuery said.
func (c *Conversation) TransactionState() byte { return 0 }

// Pending counts the events whose reply is not complete.
func (c *Conversation) Pending() int { return 0 }

// Idle: nothing begun, nothing pending, no transaction open.
func (c *Conversation) Idle() bool { return false }

// CopyIn: the server waits for COPY data.
func (c *Conversation) CopyIn() bool { return false }

// Key is the cancel key the server gave.
func (c *Conversation) Key() (pid uint32, key []byte) { return 0, nil }

// LastOrdinal is the newest event's.
func (c *Conversation) LastOrdinal() uint64 { return 0 }
