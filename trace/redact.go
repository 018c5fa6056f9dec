package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// Redaction says what became of the values of a trace.
type Redaction struct {
	Of      string     `json:"of,omitempty"`      // the trace it was made of; nothing if it was recorded so
	Mode    string     `json:"mode"`              // drop or hash
	Where   string     `json:"where,omitempty"`   // filter of the events that it was done to, if not all
	Earlier *Redaction `json:"earlier,omitempty"` // of the trace it was made of
}

// What redaction does to values.
const (
	RedactDrop = "drop" // they are taken out
	RedactHash = "hash" // pseudonyms stand in their place
)

// RedactOptions say how values are taken out of a trace or replaced.
type RedactOptions struct {
	Mode, Where string // for the header
	Key         []byte // tells pseudonyms apart in the trace's id, and is no secret

	// Entry gives another dictionary entry in place of one whose shape may hold
	// values, or the same.
	Entry func(*Entry) *Entry

	// Event changes the sizes and values of an event, whose entry is that of
	// Entry. What it is given is a copy, but for what slices hold.
	Event func(*Event)
	// State changes what a session has accumulated, under the same terms.
	State func(*State)

	JoinOptions
	header *Redaction
}

// Redact writes a trace with other values. Events keep their names, replies and
// counts. Which values they have is for the caller to say, who knows the protocol.
func Redact(r *Reader, out io.Writer, o RedactOptions) (*Joined, error) {
	c, err := newCopier(r, out, o.JoinOptions, func(c *copier, h *Header) {
		o.header = &Redaction{Of: h.Trace, Mode: o.Mode, Where: o.Where, Earlier: h.Redaction}
		h.Redaction = o.header
		h.Trace = redactedID(o.header, o.Key)
		c.redact = &o
	})
	if err != nil {
		return nil, err
	}
	if err = c.run(); err == nil {
		err = c.finish()
	}
	return c.result(), err
}

// redactedID follows from what is redacted and how.
func redactedID(r *Redaction, key []byte) string {
	sum := sha256.Sum256([]byte("redacted " + r.Mode + " " + r.Of + " " + r.Where + "\x00" + string(key)))
	return hex.EncodeToString(sum[:16])
}

// redacted is the state as it is to be written.
func (c *copier) redacted(s State) State {
	if c.redact != nil {
		c.redact.State(&s)
	}
	return s
}

func (c *copier) entry(e *Entry) (uint32, error) {
	if c.redact != nil {
		e = c.redact.Entry(e)
	}
	return c.w.InternEntry(e)
}
