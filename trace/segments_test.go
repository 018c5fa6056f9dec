package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The same trace twice through a pipe is read once.
func TestAgain(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{}, 3)
	c, err := readAll(append(bytes.Clone(b), b...))
	must(t, err)
	if len(c.events[1]) != 3 || len(c.damage) != 1 || !strings.Contains(c.damage[0].What, "comes again") {
		t.Errorf("%d events, damage %+v", len(c.events[1]), c.damage)
	}
}

// rolled writes a trace of many segments: each statement has a shape of its own.
func rolled(t testing.TB, n int, states func() []State) (*Writer, []byte) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Trace: traceID, Engine: "postgres", Started: "2026-01-02T03:04:05Z"},
		WriterOptions{States: states, Now: func() int64 { return 1 }})
	must(t, err)
	w.maxBlocks = 4
	for i := range n {
		id, err := w.Intern(OpQuery, 0, []byte(fmt.Sprintf("\x01\x05%05d", i)), nil)
		must(t, err)
		must(t, w.Event(&Event{Session: 9, Ordinal: uint64(i), Start: int64(i) * 1000, Shape: id, HasReply: true}))
		if i%10 == 9 {
			must(t, w.Flush())
		}
	}
	must(t, w.Close())
	return w, out.Bytes()
}

func mixedRolled(t testing.TB) []byte {
	_, b := rolled(t, 60, func() []State { return []State{{Session: 9, User: "u"}} })
	return b
}

// A segment that continues another opens with the states of the live sessions,
// at the ordinals where they stand, so that it can be replayed by itself.
func TestSegmentsCarryStates(t *testing.T) {
	_, b := rolled(t, 100, func() []State {
		return []State{{Session: 9, Ordinal: 999, User: "u", Database: "d"}, {Session: 10, Ordinal: 4}}
	})
	refs, err := findSegmentsIn(b)
	must(t, err)
	if len(refs) < 4 {
		t.Fatalf("%d segments", len(refs))
	}
	for i, ref := range refs {
		if ref.header.Segment != i || ref.header.Continues != (i > 0) || ref.header.Trace != traceID {
			t.Errorf("segment %d: %+v", i, ref.header)
		}
		c, err := readAll(b[ref.at:])
		must(t, err)
		if len(c.states) < 2 || c.states[1].Ordinal != 4 {
			t.Fatalf("segment %d: states %+v", i, c.states)
		}
		want := uint64(100) // all were written
		if i == 0 {
			want = 999 // not seen yet: what the caller says
		} else if len(c.events[9]) > 0 {
			want = c.events[9][0].Ordinal
		}
		if c.states[0].Ordinal != want || c.states[0].User != "u" {
			t.Errorf("segment %d: state %+v, its first event is %d", i, c.states[0], want)
		}
	}
}

// A dictionary that is full ends its segment.
func TestDictionaryRolls(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Engine: "postgres"}, WriterOptions{NoValues: false})
	must(t, err)
	long := bytes.Repeat([]byte("x"), 1<<20)
	generations := map[int]bool{}
	for i := range 40 {
		shape := append([]byte{tokenLiteral, 0x80, 0x80, 0x40}, long...)
		shape[4] = byte(i)
		id, err := w.Intern(OpQuery, 0, shape, nil)
		must(t, err)
		generations[w.Generation()] = true
		must(t, w.Event(&Event{Session: 1, Ordinal: uint64(i), Shape: id, HasReply: true}))
	}
	must(t, w.Close())
	if len(generations) != 3 {
		t.Errorf("40 MiB of shapes took %d segments", len(generations))
	}
	c, err := readAll(out.Bytes())
	must(t, err)
	for i, e := range c.events[1] {
		if e.Entry.Shape[4] != byte(i) {
			t.Fatalf("event %d has shape %d", i, e.Entry.Shape[4])
		}
	}
	if len(c.events[1]) != 40 || !c.whole {
		t.Errorf("%d events, whole %v %v", len(c.events[1]), c.whole, c.damage)
	}
}

// An id of an earlier generation that is out of range is refused.
func TestStaleID(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{}, WriterOptions{})
	must(t, err)
	err = w.Event(&Event{Shape: 3})
	if err == nil || !strings.Contains(err.Error(), "intern it again") {
		t.Errorf("event with an unknown shape: %v", err)
	}
	if _, err := w.Intern(OpExecute, 9, nil, nil); err == nil {
		t.Error("prepare of another segment was taken")
	}
}

// A file of a rotated recording that is missing is named by its number; the
// rest is read.
func TestMissingSegment(t *testing.T) {
	_, b := rolled(t, 100, nil)
	refs, err := findSegmentsIn(b)
	must(t, err)
	dir := t.TempDir()
	var pipe []byte
	for i, ref := range refs {
		if i == 1 {
			continue
		}
		end := int64(len(b))
		if i+1 < len(refs) {
			end = refs[i+1].at
		}
		pipe = append(pipe, b[ref.at:end]...)
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), b[ref.at:end], 0o600))
	}
	r, err := Open(dir)
	must(t, err)
	for name, r := range map[string]*Reader{"files": r, "pipe": NewReader(bytes.NewReader(pipe), "x")} {
		c, err := collect(r)
		must(t, err)
		if len(c.damage) != 1 || !strings.Contains(c.damage[0].What, "1 segments of trace "+traceID+" are missing after segment 0") {
			t.Errorf("%s: damage %+v", name, c.damage)
		}
		if n := len(c.events[9]); n != 100-20 {
			t.Errorf("%s: %d events", name, n)
		}
	}
}

// A value may hold a whole trace. With the header of its block damaged, the
// trace inside must not be taken for the one around it.
func TestTraceInsideAValue(t *testing.T) {
	inner := plain(t, Header{Trace: "00000000000000000000000000abcdef"}, WriterOptions{}, 5)
	noise := make([]byte, 600<<10) // the column is stored as it is, the next block far away
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	inner = append(append(bytes.Clone(noise[:60<<10]), inner...), noise[60<<10:]...)
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Trace: traceID, Engine: "postgres"}, WriterOptions{})
	must(t, err)
	id, err := w.Intern(OpQuery, 0, []byte{tokenRaw}, nil)
	must(t, err)
	for i := range uint64(3) {
		must(t, w.Event(&Event{Session: 1, Ordinal: i, Shape: id, Sizes: []uint64{SizeOf(len(inner))}, Values: inner, HasReply: true}))
		must(t, w.Flush())
	}
	must(t, w.Close())
	b := out.Bytes()
	c, err := readAll(b)
	must(t, err)
	if len(c.events[1]) != 3 || !c.whole || !bytes.Equal(c.events[1][1].values, inner) {
		t.Fatalf("%d events, damage %v", len(c.events[1]), c.damage)
	}
	at := blockAt(t, b, kindEvents, 1)
	if !bytes.Contains(b[at:], []byte("000000abcdef")) {
		t.Fatal("the value was compressed: the test needs another")
	}
	b[at+20] ^= 1
	for name, r := range map[string]*Reader{"pipe": NewReader(bytes.NewReader(b), "x"), "file": open(t, putFile(t, "x", b))} {
		c, err := collect(r)
		must(t, err)
		if len(c.events[1]) != 2 || len(c.events[2]) != 0 || len(c.damage) == 0 {
			t.Errorf("%s: %d and %d events, damage %v", name, len(c.events[1]), len(c.events[2]), c.damage)
		}
	}
}

func open(t *testing.T, path string) *Reader {
	r, err := Open(path)
	must(t, err)
	return r
}

// A damaged block costs what it holds, no more.
func TestDamageIsLocal(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{}, 20)
	for n := range 20 {
		at := blockAt(t, b, kindEvents, n)
		for _, off := range []int{0, 3, 8, 63, 64, 100} {
			d := bytes.Clone(b)
			d[at+off] ^= 0x10
			c, err := readAll(d)
			must(t, err)
			if got := len(c.events[1]) + len(c.events[2]); got < 38 || got >= 40 {
				t.Errorf("block %d, byte %d: %d of 40 events left", n, off, got)
			}
			if len(c.damage) == 0 || c.damage[0].From != int64(at) {
				t.Errorf("block at %d: damage %+v", at, c.damage)
			}
		}
	}
}

// Offsets beyond 4 GiB work: two segments with nothing between them.
func TestBeyond4GiB(t *testing.T) {
	if testing.Short() {
		t.Skip("searches through 4 GiB of nothing")
	}
	first, second := plain(t, Header{}, WriterOptions{}, 3), plain(t, Header{Trace: strings.Repeat("ab", 16)}, WriterOptions{}, 4)
	h := holey{first, second, 1<<32 + 12345}
	r := newReader()
	refs, err := findSegments(h, "x", h.at+int64(len(second)), &r.dec.z)
	must(t, err)
	if len(refs) != 2 || refs[0].at != 0 || refs[1].at != h.at || refs[1].header.Trace[:2] != "ab" || refs[1].index < h.at {
		t.Fatalf("segments %+v", refs)
	}
	var damage []Damage
	w := newWalker(fileInput{h}, "x", int64(len(first)), refs[1].index, func(d Damage) { damage = append(damage, d) })
	for n := 0; ; n++ {
		_, at, err := w.next()
		if errors.Is(err, io.EOF) {
			if n < 5 {
				t.Errorf("%d blocks", n)
			}
			break
		}
		must(t, err)
		if at < h.at {
			t.Fatalf("block at %d", at)
		}
		w.trust()
	}
	if len(damage) != 1 || damage[0].From != int64(len(first)) || damage[0].To != h.at {
		t.Errorf("damage %+v", damage)
	}
}

// holey is zeros but for its beginning and what stands at an offset.
type holey struct {
	first, second []byte
	at            int64
}

func (h holey) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(h.first)) {
		copy(p, h.first[off:])
	}
	if end := off + int64(len(p)); end > h.at {
		if off >= h.at {
			return bytes.NewReader(h.second).ReadAt(p, off-h.at)
		}
		n, _ := bytes.NewReader(h.second).ReadAt(p[h.at-off:], 0)
		p = p[:h.at-off+int64(n)]
	}
	return len(p), nil
}
