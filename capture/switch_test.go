package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/trace"
)

// Wherever recording is switched on and off, a transaction is recorded whole or
// not at all, what is not is in a gap that is no loss or before the session's
// first state, and the trace is one that verify finds nothing wrong with.
func TestSwitchingLeavesOutWholeThings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.options.Paused = rapid.Bool().Draw(rt, "paused")
		d.off.Store(d.options.Paused)
		d.encoder = newEncoder(d.Recorder)
		toggle := func() {
			if rapid.IntRange(0, 3).Draw(rt, "toggle") > 0 {
				return
			}
			if !d.start(nil) {
				d.pause()
			}
		}
		s := d.login()
		var all []exchange
		var works []int // work that an exchange belongs to
		for n := range rapid.IntRange(1, 10).Draw(rt, "works") {
			w := work(rt)
			all = append(all, w...)
			works = append(works, slices.Repeat([]int{n}, len(w))...)
		}
		behind := 0
		for i, x := range all {
			toggle()
			s.client(x.client, d.tick())
			ahead := !x.copies && !x.copied && rapid.Bool().Draw(rt, "ahead")
			for ; behind <= i && !ahead; behind++ {
				s.server(all[behind].server, d.tick())
				toggle()
			}
			if rapid.Bool().Draw(rt, "drain") {
				d.drain(true)
			}
		}
		for ; behind < len(all); behind++ {
			s.server(all[behind].server, d.tick())
		}
		s.client(msgs(terminate), d.tick())
		s.end(d.tick(), clientGone)
		checkSwitched(rt, d, all, works)
	})
}

func checkSwitched(t *rapid.T, d *desk, all []exchange, works []int) {
	recorded := map[uint64]bool{}
	for _, e := range d.finish() {
		if !e.HasReply {
			t.Fatalf("event %d has no reply", e.Ordinal)
		}
		recorded[e.Ordinal] = true
	}
	left, first := gapsOf(t, d.out.b.Bytes())
	ordinal := uint64(1)
	byWork := map[int]map[bool]int{}
	for i, x := range all {
		for range x.events {
			if recorded[ordinal] == (left[ordinal] || ordinal < first) {
				t.Fatalf("event %d: recorded %v, left out %v, first %d", ordinal, recorded[ordinal], left[ordinal], first)
			}
			if byWork[works[i]] == nil {
				byWork[works[i]] = map[bool]int{}
			}
			byWork[works[i]][recorded[ordinal]]++
			ordinal++
		}
	}
	for n, w := range byWork {
		if w[true] > 0 && w[false] > 0 {
			t.Fatalf("work %d: %d events recorded, %d not", n, w[true], w[false])
		}
	}
	totals := d.encoder.totals()
	if sum := totals.LeftOut + totals.Events; sum != ordinal+1 || totals.Gaps != 0 || totals.Missing != 0 {
		t.Fatalf("%d left out and %d recorded of %d; %d gaps", totals.LeftOut, totals.Events, ordinal+1, totals.Gaps)
	}
	if v := verified(t, d.t, d.out.b.Bytes()); v.LeftOut != totals.LeftOut || v.Events != totals.Events {
		t.Fatalf("the trace counts %+v, the recorder %+v", v.Totals, totals)
	}
}

// verified finds nothing wrong with a trace.
func verified(t interface{ Fatalf(string, ...any) }, dir *testing.T, b []byte) *trace.Report {
	file := filepath.Join(dir.TempDir(), "t")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatalf("%v", err)
	}
	v, err := trace.Verify(file)
	if err != nil || !v.OK() {
		t.Fatalf("verify: %v, %+v", err, v)
	}
	return v
}

// gapsOf are the ordinals that gaps name, and that of the first state.
func gapsOf(t *rapid.T, b []byte) (left map[uint64]bool, first uint64) {
	left, first = map[uint64]bool{}, ^uint64(0)
	in := trace.NewReader(bytes.NewReader(b), "memory")
	for {
		var b trace.Batch
		if in.Next(&b) != nil {
			return left, first
		}
		for _, s := range b.States {
			first = min(first, s.Ordinal)
		}
		for _, g := range b.Gaps {
			if !g.LeftOut || g.Why != whyOff {
				t.Fatalf("a gap because %q", g.Why)
			}
			for o := g.First; o <= g.Last && g.Session != 0; o++ {
				left[o] = true
			}
		}
	}
}

// A session that cannot be understood is a loss only if recording was wanted
// while it lasted.
func TestFaultWhileLeftOut(t *testing.T) {
	for _, started := range []bool{false, true} {
		d := newDesk(t)
		d.options.Paused = true
		d.off.Store(true)
		d.encoder = newEncoder(d.Recorder)
		s := d.login()
		s.client(msgs(query("select 1")), d.tick())
		s.server([]byte{'Z', 0, 0, 0, 1, 'I'}, d.tick()) // a length that cannot be
		if s.fault == nil {
			t.Fatal("no fault")
		}
		if started {
			d.start(nil)
			d.pause()
		}
		s.end(d.tick(), clientGone)
		if n := len(d.finish()); n != 0 {
			t.Errorf("%d events", n)
		}
		totals := d.encoder.totals()
		if lost := totals.Gaps == 1 && totals.Missing == 1; lost != started || d.faults.Load() != 1 || totals.LeftOut == 0 {
			t.Errorf("started %v: %+v", started, totals)
		}
	}
}
