package trace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What is not a trace is refused with a message that says what it is.
func TestForeignInput(t *testing.T) {
	zeros := make([]byte, 4096)
	for _, c := range []struct {
		name string
		body []byte
		want string
	}{
		{"empty", nil, "it is empty"},
		{"gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"), "it is gzip data: decompress it"},
		{"zstd", []byte("\x28\xb5\x2f\xfd\x04\x00\x11\x00"), "it is zstd data"},
		{"pcap", []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00"), "it is a pcap packet capture"},
		{"pcapng", []byte("\x0a\x0d\x0d\x0a\x1c\x00\x00\x00"), "it is a pcapng packet capture"},
		{"text", []byte("2026-01-02 LOG: statement: select 1\n"), `it is text ("2026-01-02 LOG: `},
		{"zeros", zeros, "it begins with 00 00 00 00 00 00 00 00, a trace with f7 52 54 31"},
		{"one byte", []byte{0xF7}, "no start block can be read"},
		{"magic only", append([]byte("\xf7RT1"), zeros...), "no start block can be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := putFile(t, "x", c.body)
			_, err := Open(path)
			checkRefusal(t, err, path, c.want)
			err = NewReader(bytes.NewReader(c.body), "stdin").Next(new(Batch))
			checkRefusal(t, err, "stdin", c.want)
			if h := NewReader(bytes.NewReader(c.body), "stdin").Header(); h != nil {
				t.Errorf("header %+v", h)
			}
		})
	}
}

func checkRefusal(t *testing.T, err error, name, want string) {
	t.Helper()
	if !errors.Is(err, ErrNotTrace) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %q: want ErrNotTrace with %q and %q", err, name, want)
	}
}

func TestOtherPaths(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir)
	checkRefusal(t, err, dir, "no file in this directory is one")
	must(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("hello\n"), 0o600))
	_, err = Open(dir)
	checkRefusal(t, err, dir, "no file in this directory is one")
	_, err = Open(os.DevNull)
	checkRefusal(t, err, os.DevNull, "it is empty")
	if _, err = Open(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err = Open(); err == nil {
		t.Error("no path was accepted")
	}
	b := plain(t, Header{}, WriterOptions{}, 2)
	must(t, os.WriteFile(filepath.Join(dir, "a.trace.part"), b, 0o600))
	r, err := Open(dir)
	must(t, err)
	c, err := collect(r)
	if err != nil || len(c.events[1]) != 2 {
		t.Errorf("directory with a trace and a note: %v, %d events", err, len(c.events[1]))
	}
	must(t, os.WriteFile(filepath.Join(dir, "copy"), b, 0o600))
	if _, err = Open(dir); err == nil || !strings.Contains(err.Error(), "both hold segment 0") {
		t.Errorf("the same trace twice: %v", err)
	}
}

func TestFIFO(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{}, 3)
	path := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(path, 0o600))
	go func() { _ = os.WriteFile(path, b, 0) }()
	r, err := Open(path)
	must(t, err)
	c, err := collect(r)
	if err != nil || len(c.events[1]) != 3 || !c.whole {
		t.Errorf("fifo: %v, %d events, damage %v", err, len(c.events[1]), c.damage)
	}
}

// A header must be known while the recorder of a pipe has nothing to say yet.
func TestPipeHeaderFirst(t *testing.T) {
	b := plain(t, Header{Tool: "retrace test"}, WriterOptions{}, 1)
	start, err := parseHeader(b)
	must(t, err)
	in, out := io.Pipe()
	go func() { _, _ = out.Write(b[:headerSize+int(start.stored)]) }()
	got := make(chan *Header)
	go func() { got <- NewReader(in, "stdin").Header() }()
	select {
	case h := <-got:
		if h == nil || h.Tool != "retrace test" {
			t.Errorf("header %+v", h)
		}
	case <-time.After(5 * time.Second):
		t.Error("header waits for the first block")
	}
	_ = in.Close()
}

// Other versions and unknown kinds are refused by name, not misread.
func TestVersions(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{}, 2)
	events := blockAt(t, b, kindEvents, 1)
	setDigit := func(head, _ []byte) { head[3] = '2' }
	for _, c := range []struct {
		name string
		body []byte
		want string
	}{
		{"major 2", rehead(b, 0, setDigit), `version '2', this program reads version '1'`},
		{"major 2 of another header", append([]byte("\xf7RT2"), make([]byte, 100)...), `version '2', this program reads version '1'`},
		{"major 2 in JSON", rehead(b, 0, func(_, body []byte) { copy(body, `{"retrace":2`) }), "version 2, this program reads version 1"},
		{"major 2 in the middle", rehead(b, events, setDigit), `version '2', this program reads version '1'`},
		{"upper-case kind", rehead(b, events, func(head, _ []byte) { head[4] = 'Q' }), `block of kind 'Q' at byte`},
		{"flags", rehead(b, events, func(head, _ []byte) { head[5] = 1 }), "feature (flags 0x1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readAll(c.body)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("pipe: %v", err)
			}
			r, err := Open(putFile(t, "x", c.body))
			if err == nil {
				_, err = collect(r)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("file: %v", err)
			}
		})
	}
}

// What a later version may add, unknown lower-case kinds and unknown columns,
// is passed over.
func TestAdditions(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{}, 2)
	want, err := readAll(b)
	must(t, err)
	at := blockAt(t, b, kindEvents, 0)
	h, err := parseHeader(b[at:])
	must(t, err)
	for _, id := range []byte{31, 32, 200, 255} {
		more := withColumn(b, at, &h, id)
		c, err := readAll(more)
		must(t, err)
		if len(c.damage) > 0 || len(c.events[1]) != len(want.events[1]) {
			t.Errorf("column %d: damage %v, %d events", id, c.damage, len(c.events[1]))
		}
	}
	// A lower-case block takes a number like any other.
	extra := h
	extra.kind, extra.columns = 'x', 0
	renumbered := append(bytes.Clone(b[:at]), makeBlock(extra, []byte("anything"))...)
	rest := b[at:]
	for len(rest) > 0 {
		n, err := parseHeader(rest)
		must(t, err)
		body := rest[headerSize : headerSize+int(n.stored)]
		n.number++
		renumbered = append(renumbered, makeBlock(n, body)...)
		rest = rest[headerSize+int(n.stored):]
	}
	c, err := readAll(renumbered)
	must(t, err)
	if len(c.damage) > 0 || len(c.events[1]) != len(want.events[1]) {
		t.Errorf("lower-case block: damage %v, %d events", c.damage, len(c.events[1]))
	}
}

// withColumn adds a column that no version knows to the block at an offset.
func withColumn(b []byte, at int, h *blockHeader, id byte) []byte {
	body := b[at+headerSize : at+headerSize+int(h.stored)]
	dir := int(h.columns) * directoryEntry
	var grown []byte
	grown = append(grown, body[:dir]...)
	grown = append(grown, id, 77, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0)
	grown = append(grown, body[dir:]...)
	grown = append(grown, "12345"...)
	n := *h
	n.columns++
	out := append(bytes.Clone(b[:at]), makeBlock(n, grown)...)
	return append(out, b[at+headerSize+int(h.stored):]...)
}

// Empty things end at once.
func TestEmptyTraces(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{}, 0)
	start, err := parseHeader(b)
	must(t, err)
	for name, body := range map[string][]byte{"closed": b, "start block only": b[:headerSize+int(start.stored)]} {
		c, err := readAll(body)
		if err != nil || len(c.events) > 0 || len(c.damage) > 0 || c.whole != (name == "closed") {
			t.Errorf("%s: %v, %+v", name, err, c)
		}
		path := putFile(t, "x", body)
		s, err := Info(path)
		must(t, err)
		if s.Statements != 0 || s.BytesPerStatement() != 0 || s.Span() != 0 || s.Complete != (name == "closed") || s.Bytes != uint64(len(body)) {
			t.Errorf("%s: info %+v", name, s)
		}
	}
}
