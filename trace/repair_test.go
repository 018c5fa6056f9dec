package trace

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// repaired joins what can be read of a broken trace, by way of a file and of a
// pipe, and checks that the result is whole and holds just that.
func repaired(t *rapid.T, dir string, broken []byte, m *model, holes bool) {
	path := filepath.Join(dir, "broken")
	must(t, os.WriteFile(path, broken, 0o600))
	for _, open := range []func() (*Reader, error){
		func() (*Reader, error) { return Open(path) },
		func() (*Reader, error) { return NewReader(bytes.NewReader(broken), "pipe"), nil },
	} {
		r, err := open()
		var out bytes.Buffer
		var j *Joined
		if err == nil {
			j, err = Join(r, &out, JoinOptions{})
		}
		var version *versionError
		if errors.Is(err, ErrNotTrace) || errors.As(err, &version) {
			return // not even a start block, or one that seems to be of another version
		}
		must(t, err)
		if j.Complete && len(m.holes()) > 0 {
			t.Fatal("said to be whole with holes in it")
		}

		r, err = open()
		must(t, err)
		want, err := collect(r)
		must(t, err)
		got, err := readAll(out.Bytes())
		must(t, err)
		extra := sameContent(t, want, got)
		if len(extra) != int(j.LostGaps) {
			t.Fatalf("%d gaps more, %d said", len(extra), j.LostGaps)
		}
		named := uint64(0)
		for _, g := range extra {
			named += g.Events()
			if g.Why != whyDamaged {
				t.Fatalf("gap %+v", g)
			}
			for _, e := range got.events[g.Session] {
				if e.Ordinal >= g.First && e.Ordinal <= g.Last {
					t.Fatalf("gap %+v names event %d, which is there", g, e.Ordinal)
				}
			}
		}
		if named != j.LostEvents {
			t.Fatalf("gaps of %d events, %d said", named, j.LostEvents)
		}
		// Each event is one that was written, and comes once.
		if _, err := m.prefix(got, holes); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "repaired")
		must(t, os.WriteFile(path, out.Bytes(), 0o600))
		v, err := Verify(path)
		must(t, err)
		if !v.OK() || v.Events != j.Events || v.Unanswered != j.Unanswered {
			t.Fatalf("verify: %v %v; %+v, %+v", v.Damage, v.Problems, v, j)
		}
	}
}

func TestRepairOfATornTrace(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		repaired(t, dir, out.Bytes()[:rapid.IntRange(0, out.Len()).Draw(t, "cut")], &m, false)
	})
}

func TestRepairOfFlippedBytes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		b := out.Bytes()
		for range rapid.IntRange(1, 4).Draw(t, "flips") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		}
		repaired(t, dir, b, &m, true)
	})
}

// A lost block in the middle becomes gaps that name its events.
func TestRepairNamesWhatIsMissing(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{BlockBytes: 1}, 10)
	at := blockAt(t, b, kindEvents, 5)
	b[at+headerSize] ^= 1
	var out bytes.Buffer
	j, err := Join(NewReader(bytes.NewReader(b), "x"), &out, JoinOptions{})
	must(t, err)
	c, err := readAll(out.Bytes())
	must(t, err)
	if j.Complete || j.LostGaps != 1 || j.LostEvents != 1 || len(c.gaps) != 1 || j.Events != 19 || len(j.Damage) != 1 {
		t.Fatalf("%+v, gaps %+v", j, c.gaps)
	}
	g := c.gaps[0]
	read := c.events[g.Session]
	if g.First != g.Last || len(read) != 9 || read[g.First-1].Ordinal != g.First-1 || read[g.First].Ordinal != g.First+1 || g.Start != read[g.First].Start {
		t.Errorf("gap %+v", g)
	}
}
