package trace

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// replayed copies a trace as a replay does: the same events by name, entries
// interned anew, neither shapes nor values.
func replayed(t *testing.T, src *Reader, blocks int) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Trace: strings.Repeat("ab", 16), MadeBy: ByReplay, Engine: "postgres", Run: &Run{Source: traceID}},
		WriterOptions{NoValues: true, Due: true})
	must(t, err)
	w.maxBlocks = blocks
	must(t, src.Each(func(e *Event) error {
		id, err := w.InternEntry(e.Entry)
		if err != nil {
			return err
		}
		c := *e
		c.Shape, c.HasDue, c.Due = id, true, e.Start-1000
		if err := w.Event(&c); err != nil {
			return err
		}
		if c.Ordinal%5 == 4 {
			return w.Flush()
		}
		return nil
	}))
	must(t, w.Close())
	return out.Bytes()
}

// mixed is a trace with prepared statements, in which two shapes have one text.
func mixed(t *testing.T) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Trace: traceID, Engine: "postgres"}, WriterOptions{})
	must(t, err)
	parse, err := w.Intern(OpPrepare, 0, []byte("\x00P\x01\x01a\x02"), func() (string, []uint32) { return "select $1", []uint32{23, 25} })
	must(t, err)
	for i := range uint64(40) {
		var id uint32
		e := Event{Session: 1, Ordinal: i, Start: int64(i) * 1e6, HasReply: true, Sizes: []uint64{SizeOf(1)}, Values: []byte("x")}
		switch i % 4 {
		case 0:
			id = parse
		case 1:
			id, err = w.Intern(OpExecute, parse+1, []byte("\x00B\x01\x01s\x03"), nil)
		default:
			shape := []byte("\x00Q\x01\x01_\x02")
			shape[4] = byte(i % 4)
			id, err = w.Intern(OpQuery, 0, shape, func() (string, []uint32) { return "select 0", nil })
		}
		must(t, err)
		e.Shape = id
		must(t, w.Event(&e))
	}
	must(t, w.Close())
	return out.Bytes()
}

// A run keeps names, times, texts and what executes what, and no request bytes.
func TestRun(t *testing.T) {
	for _, blocks := range []int{maxIndex, 2} {
		src := mixed(t)
		run := replayed(t, NewReader(bytes.NewReader(src), "x"), blocks)
		want, err := readAll(src)
		must(t, err)
		got, err := readAll(run)
		must(t, err)
		if !got.whole || len(got.events[1]) != 40 {
			t.Fatalf("%d events, damage %v", len(got.events[1]), got.damage)
		}
		entries := map[*Entry]bool{}
		for i, g := range got.events[1] {
			w := want.events[1][i]
			if g.Ordinal != w.Ordinal || g.Start != w.Start || g.Due != w.Start-1000 || g.Entry.Op != w.Entry.Op ||
				g.Entry.Text != w.Entry.Text || !slices.Equal(g.Entry.Types, w.Entry.Types) || g.Entry.SQL() != w.Entry.SQL() {
				t.Errorf("event %d: %+v %+v, source %+v", i, g.Event, g.Entry, w.Entry)
			}
			if g.Sizes != nil || len(g.values) > 0 || len(g.Entry.Shape) > 0 || g.Entry.Holes != 0 {
				t.Errorf("event %d of a run holds %v %q %q", i, g.Sizes, g.values, g.Entry.Shape)
			}
			entries[g.Entry] = true
		}
		if blocks == maxIndex && len(entries) != 3 {
			t.Errorf("%d entries for 3 texts", len(entries))
		}
		if bytes.Contains(run, []byte(`"value"`)) || !bytes.Contains(run, []byte(`"due"`)) {
			t.Error("the header names other columns")
		}
	}
}

// EndSession lets go of a session whose end was never seen.
func TestEndSession(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{}, WriterOptions{})
	must(t, err)
	id, err := w.Intern(OpQuery, 0, nil, nil)
	must(t, err)
	must(t, w.Event(&Event{Session: 1, Shape: id}))
	w.EndSession(1)
	w.EndSession(2)
	must(t, w.Reply(1, 0, &Reply{}, 0))
	must(t, w.Flush())
	if len(w.sessions) != 0 {
		t.Error("the session is remembered")
	}
}

// What does not fit is refused by the Writer, and leaves the trace good.
func TestWriterRefuses(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{}, WriterOptions{})
	must(t, err)
	id, err := w.Intern(OpQuery, 0, []byte{tokenRaw, tokenParam}, nil)
	must(t, err)
	other, err := w.Intern(OpQuery, 0, []byte{tokenRaw}, nil)
	must(t, err)
	two := []uint64{SizeOf(1), SizeNull}
	must(t, w.Event(&Event{Session: 1, Ordinal: 5, Shape: id, Sizes: two, Values: []byte("a")}))
	for want, e := range map[string]Event{
		"comes after event 5":      {Session: 1, Ordinal: 5, Shape: id, Sizes: two, Values: []byte("a")},
		"has 1 values, its shape":  {Session: 1, Ordinal: 6, Shape: id, Sizes: two[:1], Values: []byte("a")},
		"sizes are of 1 bytes":     {Session: 1, Ordinal: 6, Shape: id, Sizes: two, Values: []byte("ab")},
		"record it as over the li": {Session: 1, Ordinal: 6, Shape: id, Sizes: []uint64{SizeOf(maxEventBytes), SizeNull}, Values: make([]byte, maxEventBytes)},
	} {
		if err := w.Event(&e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, shape := range [][]byte{{tokenMessage}, {tokenLiteral}, {tokenLiteral, 5, 'a'}, {9}, bytes.Repeat([]byte{tokenRaw}, maxHoles+1)} {
		if _, err := w.Intern(OpQuery, 0, shape, nil); err == nil {
			t.Errorf("shape %.8q was taken", shape)
		}
	}
	if err := w.Reply(1, 5, &Reply{}, other+1); err == nil || !strings.Contains(err.Error(), "other values") {
		t.Errorf("a reply that changes the number of values: %v", err)
	}
	if err := w.Gap(Gap{First: 2, Last: 1}); err == nil {
		t.Error("a gap that ends before it begins was taken")
	}
	must(t, w.Close())
	c, err := readAll(out.Bytes())
	if err != nil || len(c.events[1]) != 1 || !c.whole {
		t.Errorf("%v, %d events", err, len(c.events[1]))
	}
}

// States are bounded: too many statements are left out and counted, and many
// states make many blocks.
func TestStatesAreBounded(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{}, WriterOptions{})
	must(t, err)
	s := State{Session: 1}
	for i := range 20 {
		s.Statements = append(s.Statements, Prepared{Name: []byte{byte(i)}, Message: make([]byte, 1<<20)})
	}
	must(t, w.State(&s))
	if len(s.Statements) != 20 {
		t.Error("the caller's state was changed")
	}
	for i := range uint64(5000) {
		must(t, w.State(&State{Session: i, Settings: map[string]string{"x": strings.Repeat("y", 1000)}}))
	}
	must(t, w.Close())
	c, err := readAll(out.Bytes())
	must(t, err)
	if len(c.states) != 5001 || !c.whole {
		t.Fatalf("%d states, %v", len(c.states), c.damage)
	}
	first := c.states[0]
	if n := len(first.Statements); n == 0 || n+first.Omitted != 20 || first.Omitted == 0 {
		t.Errorf("%d statements kept, %d omitted", n, first.Omitted)
	}
	huge := State{Settings: map[string]string{"x": strings.Repeat("y", maxRecord)}}
	if err := w.addState(&huge); err == nil {
		t.Error("a state over the limit was taken")
	}
}

// A reader that was closed says so.
func TestReaderClosed(t *testing.T) {
	r := open(t, putFile(t, "x", plain(t, Header{}, WriterOptions{}, 1)))
	must(t, r.Close())
	if err := r.Next(new(Batch)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("next after close: %v", err)
	}
}
