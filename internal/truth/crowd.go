package truth

import (
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// crowdEpoch is when a made-up trace begins: 2026-01-02T03:04:05Z.
const crowdEpoch = 1767323045_000_000_000

// Crowd writes a trace of n sessions that are all open at once and run a
// statement each, one after the other, within a few seconds, again and again.
func Crowd(path string, n, statements int) error {
	f, err := trace.Create(path, true)
	if err != nil {
		return err
	}
	w, err := trace.NewWriter(f, trace.Header{Engine: "postgres", MadeBy: trace.ByCapture}, trace.WriterOptions{})
	if err != nil {
		return err
	}
	c := crowd{w: w}
	const each = 100_000 // ns from one session's event to the next one's
	for s := range n {
		at := crowdEpoch + int64(s)*each
		if err := w.State(&trace.State{Session: uint64(s + 1), Start: at, Database: "postgres", User: "app", Transaction: "idle"}); err != nil {
			return err
		}
		c.event(s, 0, at, trace.OpConnect, nil)
	}
	at := int64(crowdEpoch)
	for i := range statements {
		at += int64(n) * each
		for s := range n {
			c.event(s, i+1, at+int64(s)*each, trace.OpQuery, []byte("Q\x00\x00\x00\x0dselect 1\x00"))
		}
	}
	at += int64(n) * each
	for s := range n {
		c.event(s, statements+1, at+int64(s)*each, trace.OpEnd, []byte("X\x00\x00\x00\x04"))
	}
	if c.err != nil {
		return c.err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

type crowd struct {
	w     *trace.Writer
	split pg.Splitter
	err   error // the first
}

func (c *crowd) event(session, ordinal int, at int64, op trace.Op, message []byte) {
	if c.err != nil {
		return
	}
	e := trace.Event{
		Session: uint64(session + 1), Ordinal: uint64(ordinal), Start: at, RequestEnd: true, HasReply: true,
		Reply: trace.Reply{Took: 50_000, State: 'I'},
	}
	var shape []byte
	if message != nil {
		shape, e.Sizes, e.Values = c.split.Split(message)
	}
	if op == trace.OpQuery {
		e.Rows, e.Results = 1, 1
	}
	if e.Shape, c.err = c.w.Intern(op, 0, shape, func() (string, []uint32) { return pg.Describe(message) }); c.err == nil {
		c.err = c.w.Event(&e)
	}
}
