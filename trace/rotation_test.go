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

	"pgregory.net/rapid"
)

// TR-06: however a trace is spread over files, whatever these are called and in
// whatever order they are named: every event once, with its reply. Each file is
// a trace by itself.
func TestRotationKeepsEveryEventOnce(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		must(t, err)
		defer func() { _ = os.RemoveAll(dir) }()
		var files []*bytes.Buffer
		next := func() (io.Writer, error) {
			files = append(files, &bytes.Buffer{})
			return files[len(files)-1], nil
		}
		first, _ := next()
		m := model{rotate: next}
		m.run(t, first, traceID)
		var paths []string
		for i, n := range rand.New(rand.NewPCG(1, uint64(len(files)))).Perm(len(files)) {
			path := filepath.Join(dir, fmt.Sprintf("file%d", n))
			must(t, os.WriteFile(path, files[i].Bytes(), 0o600))
			paths = append(paths, path)
			c, err := readAll(files[i].Bytes())
			if err != nil || !c.whole || len(c.damage) > 0 {
				t.Fatalf("file %d alone: %v, damage %v", i, err, c.damage)
			}
		}
		r, err := Open(paths...)
		must(t, err)
		c, err := collect(r)
		must(t, err)
		if err := m.check(c); err != nil {
			t.Fatal(err)
		}
	})
}

// Numbered files, each whole before the next; what is there already is left alone.
func TestRotationFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "week")
	files, err := CreateRotation(dir)
	must(t, err)
	w, err := NewWriter(files, Header{Trace: traceID, Engine: "postgres"}, WriterOptions{})
	must(t, err)
	id, err := w.Intern(OpQuery, 0, []byte{1, 1, 'x'}, nil)
	must(t, err)
	must(t, w.Event(&Event{Session: 1, Start: 5, Shape: id, HasReply: true}))
	if _, err := CreateRotation(dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("TR-11: a second recorder in the same directory: %v", err)
	}
	must(t, w.Rotate(files.Next))
	names(t, dir, "000001.trace", "000002.trace.part")

	full := errors.New("no space left")
	if err := w.Rotate(func() (io.Writer, error) { return nil, full }); !errors.Is(err, full) {
		t.Errorf("rotating on a full disk: %v", err)
	}
	if err := w.Event(&Event{Session: 1, Ordinal: 1, Start: 6, HasReply: true}); !errors.Is(err, full) {
		t.Errorf("an event while there is no file: %v", err)
	}
	w.next = files.Next
	must(t, w.Restart())
	id, err = w.Intern(OpQuery, 0, []byte{1, 1, 'x'}, nil)
	must(t, err)
	must(t, w.Event(&Event{Session: 1, Ordinal: 2, Start: 7, Shape: id, HasReply: true}))
	must(t, w.Close())
	must(t, files.Close())
	names(t, dir, "000001.trace", "000002.trace", "000003.trace")
	r, err := Open(dir)
	must(t, err)
	c, err := collect(r)
	must(t, err)
	if len(c.events[1]) != 2 || len(c.gaps) != 1 || !c.whole || len(c.damage) != 0 {
		t.Errorf("%d events, gaps %v, damage %v", len(c.events[1]), c.gaps, c.damage)
	}
	must(t, os.Remove(filepath.Join(dir, "000002.trace")))
	r, err = Open(dir)
	must(t, err)
	c, err = collect(r)
	must(t, err)
	if len(c.damage) != 1 || !strings.Contains(c.damage[0].What, "1 segments of trace "+traceID+" are missing after segment 0") {
		t.Errorf("TR-06: a file is missing: %v", c.damage)
	}
}

func names(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("files %v, want %v", got, want)
	}
}
