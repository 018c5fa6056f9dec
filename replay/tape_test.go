package replay

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// tape writes a trace by hand. Times are offsets from its start.
type tape struct {
	t     testing.TB
	buf   bytes.Buffer
	w     *trace.Writer
	split pg.Splitter
	last  uint64
}

var tapeStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano()

func newTape(t testing.TB, change ...func(*trace.Header, *trace.WriterOptions)) *tape {
	t.Helper()
	tp := &tape{t: t}
	h := trace.Header{Engine: "postgres", EngineVersion: "15.20", MadeBy: trace.ByCapture, Started: "2026-03-01T12:00:00Z"}
	o := trace.WriterOptions{Now: func() int64 { return tapeStart }}
	for _, f := range change {
		f(&h, &o)
	}
	w, err := trace.NewWriter(&tp.buf, h, o)
	if err != nil {
		t.Fatal(err)
	}
	tp.w = w
	return tp
}

func (tp *tape) check(err error) {
	if err != nil {
		tp.t.Helper()
		tp.t.Fatal(err)
	}
}

// reader ends the tape and reads it.
func (tp *tape) reader() *trace.Reader {
	tp.t.Helper()
	tp.check(tp.w.Close())
	return trace.NewReader(bytes.NewReader(tp.buf.Bytes()), "tape")
}

// taped is a session on a tape.
type taped struct {
	*tape
	id   uint64
	next uint64
}

// session begins a session with its state, and its login if at is not negative.
func (tp *tape) session(at time.Duration, settings map[string]string) *taped {
	tp.t.Helper()
	tp.last++
	s := &taped{tape: tp, id: 1000 + tp.last}
	tp.check(tp.w.State(&trace.State{
		Session: s.id, Start: tapeStart + int64(at), Database: "shop", User: "app", Settings: settings, Transaction: "idle",
	}))
	s.event(what{op: trace.OpConnect, at: at, took: time.Millisecond, state: 'I'})
	return s
}

// what is one event of a tape.
type what struct {
	op       trace.Op
	bytes    []byte
	at, took time.Duration
	rows     uint64
	status   trace.Status
	reason   string
	state    byte // 0: 'I'
	open     bool // the flush comes later
	late     bool // no reply yet, see answer
	over     bool
	redact   bool
	prepare  uint32
	results  uint32
}

// event adds an event and returns its ordinal.
func (s *taped) event(e what) uint64 {
	s.t.Helper()
	var shape, values []byte
	var sizes []uint64
	if len(e.bytes) > 0 {
		shape, sizes, values = s.split.Split(e.bytes)
	}
	if e.redact {
		sizes, values = make([]uint64, len(sizes)), nil
		for i := range sizes {
			sizes[i] = trace.SizeRedacted
		}
	}
	id, err := s.w.Intern(e.op, e.prepare, shape, func() (string, []uint32) { return pg.Describe(e.bytes) })
	s.check(err)
	ordinal := s.next
	s.next++
	s.check(s.w.Event(&trace.Event{
		Session: s.id, Ordinal: ordinal, Start: tapeStart + int64(e.at), Shape: id, Sizes: sizes, Values: values,
		RequestEnd: !e.open, OverLimit: e.over, HasReply: !e.late, Reply: e.reply(),
	}))
	if e.op == trace.OpEnd {
		s.w.EndSession(s.id)
	}
	return ordinal
}

func (e what) reply() trace.Reply {
	state := e.state
	if state == 0 {
		state = 'I'
	}
	return trace.Reply{Took: int64(e.took), Rows: e.rows, Status: e.status, Reason: e.reason, State: state, Results: e.results}
}

// query adds a simple query.
func (s *taped) query(at, took time.Duration, sql string) uint64 {
	s.t.Helper()
	return s.event(what{op: trace.OpQuery, bytes: query(sql), at: at, took: took, rows: rowsOf(sql), state: stateAfter(sql)})
}

// end adds a Terminate.
func (s *taped) end(at time.Duration) {
	s.t.Helper()
	s.event(what{op: trace.OpEnd, bytes: []byte{'X', 0, 0, 0, 4}, at: at})
}

// stateAfter is the state that query records for its few words of SQL.
func stateAfter(sql string) byte {
	switch first, _ := keyword(sql); first {
	case "BEGIN", "INSERT", "SAVEPOINT":
		return 'T'
	}
	return 'I'
}

// rowsOf is how many rows the fake server gives: one for a select.
func rowsOf(sql string) uint64 {
	if first, _ := keyword(sql); first == "SELECT" || first == "INSERT" {
		return 1
	}
	return 0
}

// cancel adds a cancel request as a session of its own.
func (tp *tape) cancel(at time.Duration, session, ordinal uint64) uint64 {
	tp.t.Helper()
	tp.last++
	s := &taped{tape: tp, id: 1000 + tp.last}
	values := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, session), ordinal)
	id, err := tp.w.Intern(trace.OpCancel, 0, []byte{2, 2}, func() (string, []uint32) { return "cancel", nil })
	tp.check(err)
	tp.check(tp.w.Event(&trace.Event{
		Session: s.id, Start: tapeStart + int64(at), Shape: id, Sizes: []uint64{trace.SizeOf(8), trace.SizeOf(8)}, Values: values,
		RequestEnd: true, HasReply: true,
	}))
	tp.w.EndSession(s.id)
	return s.id
}

// Messages.

func message(kind byte, body ...string) []byte {
	n := 4
	for _, b := range body {
		n += len(b)
	}
	m := binary.BigEndian.AppendUint32([]byte{kind}, uint32(n))
	for _, b := range body {
		m = append(m, b...)
	}
	return m
}

func query(sql string) []byte        { return message('Q', sql, "\x00") }
func parse(name, sql string) []byte  { return message('P', name, "\x00", sql, "\x00", "\x00\x00") }
func bind(name string) []byte        { return message('B', "\x00", name, "\x00", "\x00\x00\x00\x00\x00\x00") }
func execute() []byte                { return message('E', "\x00", "\x00\x00\x00\x00") }
func syncs() []byte                  { return message('S') }
func flushes() []byte                { return message('H') }
func closes(name string) []byte      { return message('C', "S", name, "\x00") }
func copyData(s string) []byte       { return message('d', s) }
func copyDone() []byte               { return message('c') }
func join(messages ...[]byte) []byte { return bytes.Join(messages, nil) }
