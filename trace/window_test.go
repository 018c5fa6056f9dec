package trace

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// views are the ways in which the same bytes can be read.
func views(t rapid.TB, dir string, b []byte) map[string]func() *Reader {
	open := func(name string, b []byte) func() *Reader {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return func() *Reader {
			r, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	return map[string]func() *Reader{
		"file":          open("whole", b),
		"without index": open("torn", b[:len(b)-1]),
		"pipe":          func() *Reader { return NewReader(bytes.NewReader(b), "pipe") },
	}
}

// union puts together what several readers gave, and refuses what comes twice.
func (c *collected) union(o *collected) error {
	for id, events := range o.events {
		for _, e := range events {
			if n := len(c.events[id]); n > 0 && e.Ordinal <= c.events[id][n-1].Ordinal {
				return fmt.Errorf("event %d of session %d comes after %d", e.Ordinal, id, c.events[id][n-1].Ordinal)
			}
			c.events[id] = append(c.events[id], e)
		}
	}
	c.gaps = append(c.gaps, o.gaps...)
	return nil
}

// checkParts compares parts of a trace with the whole.
func (m *model) checkParts(parts []*collected) error {
	all := &collected{events: map[uint64][]got{}, whole: true, states: m.states}
	for _, p := range parts {
		if err := all.union(p); err != nil {
			return err
		}
	}
	given := slices.Clone(m.gaps)
	for _, g := range all.gaps {
		i := slices.Index(given, g)
		if i < 0 {
			return fmt.Errorf("gap %+v was not written, or comes twice", g)
		}
		given = slices.Delete(given, i, i+1)
	}
	if len(given) > 0 {
		return fmt.Errorf("gaps %+v are missing", given)
	}
	all.gaps = m.gaps
	return m.check(all)
}

// Whatever the blocks, checkpoints and segments: [start, t) and [t, end) have
// each event once, with its reply, and so have readers of disjoint lanes.
func TestWindowsAndLanesKeepEveryEventOnce(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		var cuts []int64
		for _, s := range m.events {
			for _, e := range s {
				cuts = append(cuts, e.e.Start/m.tick*m.tick, e.e.Start/m.tick*m.tick+m.tick)
			}
		}
		cut := int64(1)
		if len(cuts) > 0 {
			cut = rapid.SampledFrom(cuts).Draw(t, "cut")
		}
		if cut == 0 {
			cut = 1
		}
		lanes := rapid.Uint64Range(1, math.MaxUint64-1).Draw(t, "lanes")
		for name, open := range views(t, dir, out.Bytes()) {
			for _, split := range [][]ReadOptions{
				{{To: cut}, {From: cut}},
				{{Lanes: lanes}, {Lanes: ^lanes}},
				{{To: cut, Lanes: lanes}, {To: cut, Lanes: ^lanes}, {From: cut, Lanes: lanes}, {From: cut, Lanes: ^lanes}},
			} {
				var parts []*collected
				for _, o := range split {
					r := open()
					r.Options(o)
					c, err := collect(r)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					if err := c.within(o); err != nil {
						t.Fatalf("%s %+v: %v", name, o, err)
					}
					parts = append(parts, c)
				}
				if err := m.checkParts(parts); err != nil {
					t.Fatalf("%s, %+v: %v", name, split, err)
				}
			}
		}
	})
}

// within: nothing is there that was not asked for.
func (c *collected) within(o ReadOptions) error {
	for id, events := range c.events {
		if o.Lanes != 0 && lane(id)&o.Lanes == 0 {
			return fmt.Errorf("session %d", id)
		}
		for _, e := range events {
			if e.Start < o.From || o.To != 0 && e.Start >= o.To {
				return fmt.Errorf("event at %d", e.Start)
			}
		}
	}
	return nil
}

// The states at the beginning of a window are those of the sessions that are
// live then, at the ordinals where they stand, and come before all events.
func TestStatesAtTheBeginningOfAWindow(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		h := history{t: t, live: map[uint64]*State{}}
		b := h.write()
		from := rapid.Int64Range(1, h.now+2).Draw(t, "from")
		want := h.at(from)
		for name, open := range views(t, dir, b) {
			r := open()
			r.Options(ReadOptions{From: from})
			got, seen, events := map[uint64]State{}, map[uint64]bool{}, false
			var batch Batch
			for {
				err := r.Next(&batch)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range batch.States {
					if s.Ordinal > 0 && (!events || name == "pipe" && !seen[s.Session]) {
						got[s.Session] = s
					}
				}
				for _, e := range batch.Events {
					seen[e.Session] = true
					if s, known := got[e.Session]; known && s.Ordinal > e.Ordinal {
						t.Fatalf("%s from %d: event %d of session %d, whose state is at %d", name, from, e.Ordinal, e.Session, s.Ordinal)
					}
				}
				events = events || len(batch.Events) > 0
			}
			for id, w := range want {
				g, ok := got[id]
				if !ok || g.Ordinal != w.Ordinal || g.Transaction != w.Transaction || g.User != w.User {
					t.Fatalf("%s from %d: state %+v, want %+v", name, from, g, w)
				}
			}
			if name != "pipe" && len(got) != len(want) {
				t.Fatalf("%s from %d: %d states, want %d", name, from, len(got), len(want))
			}
		}
	})
}

// history is a recording of a few sessions that come and go.
type history struct {
	t      *rapid.T
	now    int64
	next   uint64
	live   map[uint64]*State
	events []struct {
		session, ordinal uint64
		start            int64
		state            byte
		user             string
		op               Op
	}
}

func (h *history) states() []State {
	var all []State
	for _, s := range h.live {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b State) int { return int(a.Session) - int(b.Session) })
	return all
}

func (h *history) write() []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Trace: traceID, Engine: "postgres", TickNS: 1}, WriterOptions{
		BlockBytes: rapid.IntRange(40, 600).Draw(h.t, "block"), States: h.states, Now: func() int64 { return h.now },
	})
	must(h.t, err)
	w.every = rapid.SampledFrom([]int64{1, 300, 2000}).Draw(h.t, "every")
	w.maxBlocks = rapid.SampledFrom([]int{10, maxIndex}).Draw(h.t, "blocks")
	for range rapid.IntRange(1, 120).Draw(h.t, "steps") {
		h.now += rapid.Int64Range(0, 3).Draw(h.t, "dt")
		if len(h.live) == 0 || len(h.live) < 4 && rapid.IntRange(0, 5).Draw(h.t, "connect") == 0 {
			h.next++
			s := &State{Session: h.next, Start: h.now, User: fmt.Sprint("user", h.next), Transaction: "idle"}
			h.live[s.Session] = s
			must(h.t, w.State(s))
			h.event(w, s, OpConnect, 'I')
			continue
		}
		all := h.states()
		s := h.live[all[rapid.IntRange(0, len(all)-1).Draw(h.t, "session")].Session]
		switch k := rapid.IntRange(0, 12).Draw(h.t, "what"); {
		case k == 0:
			delete(h.live, s.Session)
			h.event(w, s, OpEnd, 'I')
		case k == 1:
			must(h.t, w.Flush())
		default:
			h.event(w, s, OpQuery, rapid.SampledFrom([]byte("ITE")).Draw(h.t, "state"))
		}
	}
	must(h.t, w.Close())
	return out.Bytes()
}

func (h *history) event(w *Writer, s *State, op Op, state byte) {
	id, err := w.Intern(op, 0, []byte{1, 1, byte(op)}, nil)
	must(h.t, err)
	h.events = append(h.events, struct {
		session, ordinal uint64
		start            int64
		state            byte
		user             string
		op               Op
	}{s.Session, s.Ordinal, h.now, state, s.User, op})
	e := Event{Session: s.Session, Ordinal: s.Ordinal, Start: h.now, Shape: id, HasReply: true, Reply: Reply{State: state}}
	s.Ordinal++
	s.Transaction = map[byte]string{'I': "idle", 'T': "open", 'E': "failed"}[state]
	must(h.t, w.Event(&e))
}

// at is what the states at a time are.
func (h *history) at(from int64) map[uint64]State {
	all := map[uint64]State{}
	for _, e := range h.events {
		if e.start >= from {
			continue
		}
		all[e.session] = State{
			Session: e.session, Ordinal: e.ordinal + 1, User: e.user,
			Transaction: map[byte]string{'I': "idle", 'T': "open", 'E': "failed"}[e.state],
		}
		if e.op == OpEnd {
			delete(all, e.session)
		}
	}
	return all
}
