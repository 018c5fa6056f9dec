package trace

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// copyStream is a COPY: its statement waits for its reply until all data has
// been sent, n pieces of which have theirs at once.
func copyStream(t *testing.T, n, size int, answer bool) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Trace: traceID, Engine: "postgres"}, WriterOptions{})
	must(t, err)
	statement, err := w.Intern(OpQuery, 0, nil, func() (string, []uint32) { return "copy t from stdin", nil })
	must(t, err)
	data, err := w.Intern(OpCopy, 0, []byte{tokenRaw}, nil)
	must(t, err)
	must(t, w.Event(&Event{Session: 1, Shape: statement}))
	for i := range n {
		must(t, w.Event(&Event{
			Session: 1, Ordinal: uint64(i + 1), Start: int64(i) * 1000, Shape: data, HasReply: true,
			Sizes: []uint64{SizeOf(size)}, Values: bytes.Repeat([]byte{byte(i)}, size),
		}))
	}
	must(t, w.Flush())
	if answer {
		must(t, w.Reply(1, 0, &Reply{Took: 5e9, Rows: 7}, 0))
	}
	must(t, w.Close())
	return out.Bytes()
}

// What waits behind an unanswered statement stays in order and whole, and
// beyond a bound it waits on disk.
func TestEachSpills(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const pieces, size = 500, 128 << 10
	b := copyStream(t, pieces, size, true)
	r := NewReader(bytes.NewReader(b), "x")
	next := uint64(0)
	err := r.Each(func(e *Event) error {
		if e.Ordinal != next {
			return fmt.Errorf("event %d comes, %d should", e.Ordinal, next)
		}
		if next == 0 && (!e.HasReply || e.Rows != 7 || e.Took != 5e9) {
			return fmt.Errorf("statement without its reply: %+v", e)
		}
		if next > 0 && !bytes.Equal(e.Values, bytes.Repeat([]byte{byte(next - 1)}, size)) {
			return fmt.Errorf("values of piece %d changed", next)
		}
		next++
		return nil
	})
	if err != nil || next != pieces+1 {
		t.Errorf("%d events: %v", next, err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if n := allocated(func() { must(t, NewReader(bytes.NewReader(b), "x").Each(func(*Event) error { return nil })) }); n > 4*maxHeld {
		t.Errorf("%d MiB of pieces took %d MiB", pieces*size>>20, n>>20)
	}
}

// Without a reply to wait for, everything comes at the end.
func TestEachUnanswered(t *testing.T) {
	n := 0
	must(t, NewReader(bytes.NewReader(copyStream(t, 3, 4, false)), "x").Each(func(e *Event) error {
		if e.Ordinal != uint64(n) || e.HasReply != (n > 0) {
			t.Errorf("event %d, reply %v", e.Ordinal, e.HasReply)
		}
		n++
		return nil
	}))
	if n != 4 {
		t.Errorf("%d events", n)
	}
}

// A reply that is lost with its block does not hold back the session for ever.
func TestEachLostReply(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{}, 20)
	b[blockAt(t, b, kindReplies, 3)+70] ^= 1
	r := NewReader(bytes.NewReader(b), "x")
	held, most, seen := 0, 0, map[uint64]int{}
	var batch Batch
	j := joiner{fn: func(e *Event) error { seen[e.Session]++; return nil }, waiting: map[uint64]*heldSession{}}
	for r.Next(&batch) == nil {
		must(t, j.take(&batch))
		held = 0
		for _, h := range j.waiting {
			held += len(h.events)
		}
		most = max(most, held)
	}
	must(t, j.finish())
	if seen[1] != 20 || seen[2] != 20 || most > 3 {
		t.Errorf("%v events, %d held at a time", seen, most)
	}
}

// An error of the callback ends the reading and comes back.
func TestEachStops(t *testing.T) {
	n := 0
	err := NewReader(bytes.NewReader(plain(t, Header{}, WriterOptions{}, 5)), "x").Each(func(*Event) error {
		n++
		return errDiskFull
	})
	if err != errDiskFull || n != 1 {
		t.Errorf("%v after %d events", err, n)
	}
}
