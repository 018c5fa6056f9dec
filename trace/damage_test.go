package trace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

const traceID = "0123456789abcdef0123456789abcdef"

// prefix checks that what was read of each session is a part of what was
// written: only the beginning, or with holes, in order and nothing twice.
func (m *model) prefix(c *collected, holes bool) (whole bool, err error) {
	whole = true
	for id, read := range c.events {
		want := m.events[id]
		at := 0
		for i := range read {
			for holes && at < len(want) && want[at].e.Ordinal != read[i].Ordinal {
				at++
				whole = false
			}
			if at >= len(want) {
				return false, fmt.Errorf("session %d: read event %d that was not written there", id, read[i].Ordinal)
			}
			if err := want[at].same(&read[i], m.tick, true); err != nil {
				return false, err
			}
			whole = whole && read[i].HasReply == want[at].e.HasReply
			at++
		}
	}
	for id := range m.events {
		whole = whole && len(m.events[id]) == len(c.events[id])
	}
	return whole && len(c.gaps) == len(m.gaps), nil
}

// A trace cut off anywhere gives the beginning of each session.
func TestTruncation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		n := rapid.IntRange(0, out.Len()).Draw(t, "cut")
		c, err := collect(NewReader(bytes.NewReader(out.Bytes()[:n]), "x"))
		if errors.Is(err, ErrNotTrace) && n < 1000 && len(c.events) == 0 {
			return // not even a start block
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.prefix(c, false); err != nil {
			t.Fatal(err)
		}
		if c.whole && n < out.Len() && !closedAt(out.Bytes()[:n]) {
			t.Fatalf("cut at %d of %d and said to be complete", n, out.Len())
		}
	})
}

// closedAt tells whether these bytes end with the end of a segment: then
// nothing in them can say that more followed.
func closedAt(b []byte) bool { return bytes.HasSuffix(b, []byte(trailerMark)) }

// One byte changed anywhere is noticed, costs at most what depends on its
// block, and never yields other data.
func TestFlippedByte(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		b := out.Bytes()
		i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		b[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		c, err := collect(NewReader(bytes.NewReader(b), "x"))
		if err != nil && !errors.Is(err, ErrNotTrace) {
			t.Fatal(err)
		}
		if err == nil {
			if _, err := m.prefix(c, true); err != nil {
				t.Fatal(err)
			}
			if c.whole || len(c.damage) == 0 {
				t.Fatalf("byte %d of %d changed and nobody noticed", i, len(b))
			}
		}
		// A file has its index, which holds a copy of the start block: only a
		// trace whose first three bytes are gone is not recognised.
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = collect(r); err != nil {
			t.Fatal(err)
		}
		if _, err := m.prefix(c, true); err != nil {
			t.Fatal(err)
		}
		if len(c.damage) == 0 {
			t.Fatalf("byte %d of %d changed and nobody noticed", i, len(b))
		}
	})
}

// Bytes lost or put in between are noticed too, and what follows is read.
func TestSplicedBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		b := out.Bytes()
		i := rapid.IntRange(300, max(300, len(b)-1)).Draw(t, "at")
		k := min(len(b), i+rapid.IntRange(0, 300).Draw(t, "lost"))
		put := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "put")
		if i >= len(b) || bytes.Equal(b[i:k], put) {
			return
		}
		b = append(append(append([]byte(nil), b[:i]...), put...), b[k:]...)
		c, err := collect(NewReader(bytes.NewReader(b), "x"))
		if err != nil && !errors.Is(err, ErrNotTrace) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		whole, err := m.prefix(c, true)
		if err != nil {
			t.Fatal(err)
		}
		if !whole && c.whole && !closedAt(b) {
			t.Fatal("damaged and said to be complete")
		}
	})
}

// Rotated files are one trace whatever their names, and their order of naming.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		n++
		sub := filepath.Join(dir, fmt.Sprint(n))
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for i, part := range segmentsOf(t, out.Bytes()) {
			path := filepath.Join(sub, fmt.Sprintf("%02d.trace", (i*7+3)%11+11*(i/11)))
			if err := os.WriteFile(path, part, 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		paths = rapid.Permutation(paths).Draw(t, "order")
		for _, names := range [][]string{paths, {sub}} {
			r, err := Open(names...)
			if err != nil {
				t.Fatal(err)
			}
			c, err := collect(r)
			if err == nil {
				err = m.check(c)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		m.checkSummaries(t, paths)
	})
}

// checkSummaries compares what the indexes say with what reading says, and
// has Verify look at all of it.
func (m *model) checkSummaries(t *rapid.T, paths []string) {
	fast, err := Info(paths...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := r.count()
	if err != nil {
		t.Fatal(err)
	}
	if fast.Events > 0 && (fast.Totals != slow.Totals || !fast.Complete || !slow.Complete) {
		t.Fatalf("indexes say %+v, blocks %+v", fast.Totals, slow.Totals)
	}
	report, err := Verify(paths...)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Complete || report.Totals != slow.Totals {
		t.Fatalf("verify: %+v, count: %+v", report, slow.Totals)
	}
}

// segmentsOf cuts a trace where its segments begin.
func segmentsOf(t *rapid.T, b []byte) [][]byte {
	refs, err := findSegmentsIn(b)
	if err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	for i := range refs {
		end := int64(len(b))
		if i+1 < len(refs) {
			end = refs[i+1].at
		}
		parts = append(parts, b[refs[i].at:end])
	}
	return parts
}

func findSegmentsIn(b []byte) ([]segmentRef, error) {
	u, err := newUnpacker()
	if err != nil {
		return nil, err
	}
	defer u.close()
	return findSegments(bytes.NewReader(b), "x", int64(len(b)), &u)
}

// Two recordings put together with cat, or named beside each other, are both
// read whole, in the order of their times.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var a, b model
		var outA, outB bytes.Buffer
		a.run(t, &outA, traceID)
		b.run(t, &outB, "abcdabcdabcdabcdabcdabcdabcdabcd")
		pathA, pathB, cat := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "cat")
		for path, body := range map[string][]byte{pathA: outA.Bytes(), pathB: outB.Bytes(), cat: append(outA.Bytes(), outB.Bytes()...)} {
			if err := os.WriteFile(path, body, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, names := range [][]string{{pathA, pathB}, {pathB, pathA}, {cat}} {
			if err := checkMerged(&a, &b, names); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func checkMerged(a, b *model, names []string) error {
	r, err := Open(names...)
	if err != nil {
		return err
	}
	ca, cb := &collected{events: map[uint64][]got{}}, &collected{events: map[uint64][]got{}}
	var batch Batch
	for r.Next(&batch) == nil {
		c := ca
		if batch.Header.Trace != traceID {
			c = cb
		}
		for i := range batch.Events {
			c.events[batch.Events[i].Session] = append(c.events[batch.Events[i].Session], copied(&batch.Events[i]))
		}
		for i := range batch.Late {
			c.late(&batch.Late[i])
		}
		c.gaps = append(c.gaps, batch.Gaps...)
		c.states = append(c.states, batch.States...)
	}
	ca.whole, cb.whole = r.Complete(), r.Complete()
	return errors.Join(a.check(ca), b.check(cb))
}
