package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// joined joins what a reader gives and reads the result.
func joined(t tester, r *Reader) ([]byte, *Joined, *collected) {
	t.Helper()
	var out bytes.Buffer
	j, err := Join(r, &out, JoinOptions{})
	must(t, err)
	c, err := readAll(out.Bytes())
	must(t, err)
	if len(c.damage) > 0 || !c.whole {
		t.Fatal(fmt.Sprintf("the joined trace is not whole: %v", c.damage))
	}
	return out.Bytes(), j, c
}

// content is an event without what a copy may change: ids of the dictionary.
func content(g *got) string {
	e := g.Event
	e.Entry, e.Shape, e.Sizes, e.Values = nil, 0, nil, nil
	return fmt.Sprintf("%+v %v %q %s", e, g.Sizes, g.values, entryContent(g.Entry))
}

func entryContent(e *Entry) string {
	s := fmt.Sprintf("%c %q %q %v", e.Op, e.Shape, e.Text, e.Types)
	if e.Prepare != nil {
		s += " of " + entryContent(e.Prepare)
	}
	return s
}

// sameContent tells how two traces that were read differ. The second may have
// further gaps, which are returned, and states may come again.
func sameContent(t tester, a, b *collected) []Gap {
	t.Helper()
	if len(a.events) != len(b.events) {
		t.Fatal(fmt.Sprintf("events of %d sessions against %d", len(a.events), len(b.events)))
	}
	for id := range a.events {
		if len(a.events[id]) != len(b.events[id]) {
			t.Fatal(fmt.Sprintf("session %d: %d events against %d", id, len(a.events[id]), len(b.events[id])))
		}
		for i := range a.events[id] {
			if x, y := content(&a.events[id][i]), content(&b.events[id][i]); x != y {
				t.Fatal(fmt.Sprintf("session %d:\n%s\n%s", id, x, y))
			}
		}
	}
	extra := slices.Clone(b.gaps)
	for _, g := range a.gaps {
		i := slices.Index(extra, g)
		if i < 0 {
			t.Fatal(fmt.Sprintf("gap %+v is gone", g))
		}
		extra = slices.Delete(extra, i, i+1)
	}
	if !reflect.DeepEqual(a.states, b.states) {
		t.Fatal(fmt.Sprintf("states %+v against %+v", a.states, b.states))
	}
	return extra
}

// A recording that was rotated into files, joined again, holds what it held:
// each event once, with its reply, states and gaps.
func TestJoinOfRotatedFiles(t *testing.T) {
	dir := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		want, err := readAll(out.Bytes())
		must(t, err)
		var paths []string
		for i, segment := range segmentsOf(t, out.Bytes()) {
			paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d-%d", round, i)))
			must(t, os.WriteFile(paths[i], segment, 0o600))
		}
		r, err := Open(rapid.Permutation(paths).Draw(t, "order")...)
		must(t, err)
		b, j, c := joined(t, r)
		holes := sameContent(t, want, c)
		if !slices.EqualFunc(holes, m.holes(), func(g Gap, h jump) bool { return jump{g.Session, g.First, g.Last} == h }) {
			t.Fatalf("gaps %+v, the ordinals pass over %+v", holes, m.holes())
		}
		if j.Complete != (len(holes) == 0) || j.LostGaps != uint64(len(holes)) || len(j.Damage) > 0 {
			t.Fatalf("%+v with %d holes", j, len(holes))
		}
		path := filepath.Join(dir, "joined")
		must(t, os.WriteFile(path, b, 0o600))
		v, err := Verify(path)
		must(t, err)
		if !v.OK() || v.Totals != j.Totals {
			t.Fatalf("verify: %v %v\n%+v\n%+v", v.Damage, v.Problems, v.Totals, j.Totals)
		}
		again, _, _ := joined(t, NewReader(bytes.NewReader(out.Bytes()), "pipe"))
		if !bytes.Equal(again, b) {
			t.Fatal("a pipe makes other bytes than files")
		}
	})
}

// holes are the ordinals that the model passed over and no gap explains.
func (m *model) holes() []jump {
	var all []jump
	for _, id := range slices.Sorted(slices.Values(m.sessions)) {
		next := uint64(0)
		for _, e := range m.events[id] {
			if e.e.Ordinal > next {
				left := []jump{{id, next, e.e.Ordinal - 1}}
				for _, g := range m.gaps {
					var rest []jump
					for _, l := range left {
						if g.Session == id {
							rest = l.without(&g, rest)
						} else {
							rest = append(rest, l)
						}
					}
					left = rest
				}
				all = append(all, left...)
			}
			next = e.e.Ordinal + 1
		}
	}
	return all
}

// recorders writes what several recorders took of sessions of their own, side
// by side in time.
func recorders(t *testing.T, n int) (paths []string, events map[uint64]int) {
	events = map[uint64]int{}
	for i := range n {
		var out bytes.Buffer
		w, err := NewWriter(&out, Header{
			Trace: strings.Repeat(fmt.Sprint(i+1), 32), Engine: "postgres", MadeBy: ByCapture, Started: "2026-01-02T03:04:05Z",
			TickNS: int64(1000 * (i + 1)), Source: &Source{Target: fmt.Sprint("postgres://db", i), Addresses: []string{fmt.Sprint("10.0.0.", i, ":5432")}},
		}, WriterOptions{BlockBytes: 200})
		must(t, err)
		for k := range uint64(50) {
			session := uint64(i)<<32 + k%3
			id, err := w.Intern(OpQuery, 0, []byte{tokenRaw}, func() (string, []uint32) { return "select 0", nil })
			must(t, err)
			if k < 3 {
				must(t, w.State(&State{Session: session, Start: int64(k) * 6e6, User: fmt.Sprint("user", i)}))
			}
			must(t, w.Event(&Event{
				Session: session, Ordinal: k / 3, Start: int64(k)*6e6 + int64(i)*3e6, Shape: id, RequestEnd: true,
				Sizes: []uint64{SizeOf(1)}, Values: []byte{byte('a' + i)}, HasReply: true, Reply: Reply{Took: 6000},
			}))
			events[session]++
		}
		must(t, w.Close())
		paths = append(paths, putFile(t, "trace", out.Bytes()))
	}
	return paths, events
}

func TestJoinOfSeveralRecorders(t *testing.T) {
	paths, events := recorders(t, 3)
	r, err := Open(paths...)
	must(t, err)
	_, j, c := joined(t, r)
	if !j.Complete || j.Segments != 1 || j.Events != 150 || len(c.states) != 9 {
		t.Errorf("%+v", j)
	}
	for id, n := range events {
		if len(c.events[id]) != n {
			t.Errorf("session %d: %d events, want %d", id, len(c.events[id]), n)
		}
		for i, e := range c.events[id] {
			if e.Ordinal != uint64(i) || e.Took != 6000 || e.Start != (int64(i)*3+int64(id&3))*6e6+int64(id>>32)*3e6 || string(e.values) != string(rune('a'+id>>32)) {
				t.Fatalf("session %d: %+v", id, e)
			}
		}
	}
}

// Blocks come in the order of their times, and the header speaks for all.
func TestJoinedHeader(t *testing.T) {
	paths, _ := recorders(t, 2)
	r, err := Open(paths...)
	must(t, err)
	b, _, _ := joined(t, r)
	r = NewReader(bytes.NewReader(b), "x")
	h := r.Header()
	if len(h.Joined) != 2 || h.Joined[0] != strings.Repeat("1", 32) || h.Trace == h.Joined[0] || h.TickNS != 1000 ||
		h.Source.Target != "postgres://db0 postgres://db1" || len(h.Source.Addresses) != 2 {
		t.Errorf("%+v %+v", h, h.Source)
	}
	last := int64(0)
	for {
		var batch Batch
		if err := r.Next(&batch); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events[:min(1, len(batch.Events))] {
			if e.Start < last-1e9 {
				t.Errorf("a block at %d after one at %d", e.Start, last)
			}
			last = e.Start
		}
	}
	if again, err := Open(paths...); err == nil {
		if other, _, _ := joined(t, again); !bytes.Equal(other, b) {
			t.Error("joined twice, the bytes differ")
		}
	}
}

// What is said of all must be true of each.
func TestJoinedHeaderClaims(t *testing.T) {
	early, late := &Restore{LSN: "0/1", SystemIdentifier: "7"}, &Restore{LSN: "0/2", SystemIdentifier: "7"}
	for _, c := range []struct{ a, b, want Header }{
		{Header{Sample: 0.5, Only: "op:select"}, Header{Sample: 0.1, Only: "op:select"}, Header{Sample: 0.1, Only: "op:select"}},
		{Header{}, Header{Sample: 0.1, Only: "op:select"}, Header{Sample: 0.1}},
		{Header{Started: "2026-01-02T00:00:02Z", Restore: late}, Header{Started: "2026-01-02T00:00:01Z", Restore: early}, Header{Restore: early}},
		{Header{Restore: early}, Header{Restore: &Restore{SystemIdentifier: "8"}}, Header{}},
		{Header{Restore: early}, Header{}, Header{}},
		{Header{Timing: TimingOriginal}, Header{Timing: TimingClosedLoop}, Header{Timing: TimingClosedLoop}},
		{Header{PausedFrom: "2026-01-02T00:00:00Z"}, Header{}, Header{}},
	} {
		h := c.a
		h.add(&c.b)
		if h.Sample != c.want.Sample || h.Only != c.want.Only || h.Restore != c.want.Restore || h.PausedFrom != c.want.PausedFrom ||
			c.want.Timing != "" && h.Timing != c.want.Timing {
			t.Errorf("%+v and %+v: %+v", c.a, c.b, h)
		}
	}
}

func TestJoinRefuses(t *testing.T) {
	file := func(trace string, h Header) string {
		h.Trace = strings.Repeat(trace, 32)
		return putFile(t, "x", plain(t, h, WriterOptions{NoValues: h.Run != nil}, 3))
	}
	recording := file("1", Header{})
	run := func(trace string) string {
		return file(trace, Header{Engine: "postgres", MadeBy: ByReplay, Run: &Run{Source: strings.Repeat("1", 32)}})
	}
	for name, c := range map[string]struct {
		paths []string
		want  string
	}{
		"another engine":      {[]string{recording, file("2", Header{Engine: "mysql"})}, "at postgres and trace 22222222222222222222222222222222 at mysql"},
		"a run and recording": {[]string{recording, run("3")}, "is a recording and the other a run"},
		"two runs":            {[]string{run("3"), run("4")}, "are two runs"},
		"the same sessions":   {[]string{recording, file("5", Header{})}, "session 1 is in trace 1111"},
		"a file twice":        {[]string{recording, recording}, "name each once"},
	} {
		r, err := Open(c.paths...)
		if err == nil {
			_, err = Join(r, io.Discard, JoinOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	two := append(plain(t, Header{Trace: strings.Repeat("1", 32)}, WriterOptions{}, 3), plain(t, Header{Trace: strings.Repeat("2", 32)}, WriterOptions{}, 3)...)
	if _, err := Join(NewReader(bytes.NewReader(two), "pipe"), io.Discard, JoinOptions{}); !errors.Is(err, errJoinedPipe) {
		t.Errorf("two traces in a pipe: %v", err)
	}
	if _, err := Join(NewReader(strings.NewReader("no trace"), "x"), io.Discard, JoinOptions{}); !errors.Is(err, ErrNotTrace) {
		t.Errorf("no trace: %v", err)
	}
}

// A run stays a run: no values, but when things were due.
func TestJoinOfARun(t *testing.T) {
	h := Header{MadeBy: ByReplay, Engine: "postgres", Run: &Run{Source: traceID, Pace: "original"}, Extra: map[string]json.RawMessage{"later": json.RawMessage(`1`)}}
	var out bytes.Buffer
	w, err := NewWriter(&out, h, WriterOptions{NoValues: true, Due: true, Diverged: true})
	must(t, err)
	id, err := w.Intern(OpQuery, 0, []byte{tokenRaw}, func() (string, []uint32) { return "select 0", nil })
	must(t, err)
	must(t, w.Event(&Event{
		Session: 1, Start: 5e6, Shape: id, HasReply: true, HasDue: true, Due: 4e6, Diverged: DivergedRows,
		Reply: Reply{Status: Skipped, Reason: "aborted"},
	}))
	must(t, w.Close())
	b, j, c := joined(t, NewReader(bytes.NewReader(out.Bytes()), "x"))
	e := c.events[1][0]
	if !j.Complete || !e.HasDue || e.Due != 4e6 || e.Diverged != DivergedRows || e.Status != Skipped || e.Reason != "aborted" || e.Sizes != nil || e.Entry.Text != "select 0" {
		t.Errorf("%+v %+v", j, e)
	}
	if got := NewReader(bytes.NewReader(b), "x").Header(); got.Run == nil || got.Run.Pace != "original" || string(got.Extra["later"]) != "1" {
		t.Errorf("%+v", got)
	}
}

func TestJoinStopsWhenTold(t *testing.T) {
	stop := errors.New("stop")
	_, err := Join(NewReader(bytes.NewReader(plain(t, Header{}, WriterOptions{}, 5)), "x"), io.Discard, JoinOptions{Tick: func(uint64) error { return stop }})
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// still follows sessions of a protocol in which nothing changes a state.
type still struct{}

func (still) Follow(*State) Followed { return still{} }
func (still) Event(*Event)           {}
func (still) Late(*Late)             {}
func (still) State(*State)           {}

// With somebody who follows sessions, segments begin anywhere, each with the
// states of the sessions that go on in it.
func TestJoinFollowing(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var in, out bytes.Buffer
		m.run(t, &in, traceID)
		want, err := readAll(in.Bytes())
		must(t, err)
		r := NewReader(bytes.NewReader(in.Bytes()), "x")
		r.Follow(still{})
		c, err := newCopier(r, &out, JoinOptions{}, nil)
		must(t, err)
		c.w.maxBlocks, c.w.limit = rapid.IntRange(3, 10).Draw(t, "max"), rapid.IntRange(40, 2000).Draw(t, "limit")
		must(t, c.run())
		must(t, c.finish())
		path := filepath.Join(dir, "joined")
		must(t, os.WriteFile(path, out.Bytes(), 0o600))
		v, err := Verify(path)
		must(t, err)
		if !v.OK() || v.Totals != c.result().Totals {
			t.Fatalf("verify: %v %v", v.Damage, v.Problems)
		}
		got, err := readAll(out.Bytes())
		must(t, err)
		got.states = want.states // those of segments come in between
		sameContent(t, want, got)
		statesAtSegments(t, out.Bytes())
	})
}

// statesAtSegments checks that who is known has a state in each segment in
// which it goes on, before its first event there.
func statesAtSegments(t *rapid.T, b []byte) {
	next := map[uint64]uint64{} // of sessions whose state is known
	segment := -1
	var stated map[uint64]bool
	r := NewReader(bytes.NewReader(b), "x")
	for {
		var batch Batch
		if err := r.Next(&batch); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if batch.Header.Segment != segment {
			segment, stated = batch.Header.Segment, map[uint64]bool{}
		}
		for i := range batch.States {
			s := &batch.States[i]
			stated[s.Session] = true
			if n, ok := next[s.Session]; ok && s.Ordinal < n {
				t.Fatalf("segment %d: state of session %d at %d, after event %d", segment, s.Session, s.Ordinal, n-1)
			}
			next[s.Session] = max(next[s.Session], s.Ordinal)
		}
		for i := range batch.Events {
			e := &batch.Events[i]
			if _, known := next[e.Session]; known && !stated[e.Session] {
				t.Fatalf("segment %d: event %d of session %d comes without a state", segment, e.Ordinal, e.Session)
			} else if known {
				next[e.Session] = e.Ordinal + 1
			}
		}
	}
}
