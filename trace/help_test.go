package trace

import (
	"bytes"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// plain writes a small trace: two sessions, a few blocks, a late reply.
func plain(t testing.TB, h Header, o WriterOptions, rounds int) []byte {
	t.Helper()
	var out bytes.Buffer
	writePlain(t, &out, h, o, rounds)
	return out.Bytes()
}

func writePlain(t testing.TB, out io.Writer, h Header, o WriterOptions, rounds int) *Writer {
	t.Helper()
	if h.Engine == "" {
		h.Engine, h.MadeBy = "postgres", ByCapture
	}
	if h.Started == "" {
		h.Started = "2026-01-02T03:04:05Z"
	}
	if h.Trace == "" {
		h.Trace = traceID
	}
	w, err := NewWriter(out, h, o)
	must(t, err)
	for i := range uint64(rounds) {
		for session := range uint64(2) {
			id, err := w.Intern(OpQuery, 0, modelShapes[0], func() (string, []uint32) { return "select 0", nil })
			must(t, err)
			e := Event{
				Session: session + 1, Ordinal: i, Start: int64(i) * 1e6, Shape: id, RequestEnd: true,
				Sizes: []uint64{SizeOf(3)}, Values: []byte("abc"),
			}
			if o.NoValues {
				e.Sizes, e.Values = nil, nil
			}
			must(t, w.Event(&e))
			if session == 0 {
				must(t, w.Flush())
			}
			must(t, w.Reply(session+1, i, &Reply{Took: 5e5, Rows: 1, State: 'I'}, 0))
		}
	}
	must(t, w.Close())
	return w
}

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file in a temporary folder.
func putFile(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, b, 0o600))
	return path
}

// rehead changes the header of the block at an offset and makes its checksums
// good again, as a forger would.
func rehead(b []byte, at int, change func(head, body []byte)) []byte {
	b = bytes.Clone(b)
	h, err := parseHeader(b[at:])
	if err != nil {
		panic(err)
	}
	body := b[at+headerSize : at+headerSize+int(h.stored)]
	change(b[at:at+headerSize], body)
	put32(b[at+56:], crc32.Checksum(body, castagnoli))
	put32(b[at+60:], crc32.Checksum(b[at:at+60], castagnoli))
	return b
}

func put32(b []byte, v uint32) {
	for i := range 4 {
		b[i] = byte(v >> (8 * i))
	}
}

// blockAt finds the n-th block of a kind.
func blockAt(t testing.TB, b []byte, kind byte, n int) int {
	t.Helper()
	for at := 0; at+headerSize <= len(b); {
		h, err := parseHeader(b[at:])
		must(t, err)
		if h.kind == kind {
			if n == 0 {
				return at
			}
			n--
		}
		at += headerSize + int(h.stored)
	}
	t.Fatalf("no such block %q", kind)
	return 0
}

// readAll reads a trace from memory.
func readAll(b []byte) (*collected, error) {
	return collect(NewReader(bytes.NewReader(b), "x"))
}

// join builds a block.
func makeBlock(h blockHeader, body []byte) []byte {
	b := make([]byte, headerSize, headerSize+len(body))
	h.stored, h.body = uint32(len(body)), crc32.Checksum(body, castagnoli)
	h.put(b)
	return append(b, body...)
}

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
