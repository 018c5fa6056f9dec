package analyze

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// AN-19: a cold start is left out of both runs by the same time of the trace, and
// how much that was is said.
func TestSkipStart(t *testing.T) {
	l := load{seconds: 40, perSecond: 20, statements: []*trace.Entry{fast, slow}, us: 300}
	cold := func(e *trace.Event, _ int, _ *rand.Rand) {
		if e.Start < 10e9 {
			e.Took *= 50
			if e.Ordinal%10 == 0 {
				e.Status, e.Reason = trace.Error, "53300"
			}
		}
	}
	if v, _ := verdictOf(t, against(Options{}, recording(), runOf("closed"), l, cold), slow); v != Errored {
		t.Fatalf("with the cold start it is %s", v)
	}
	r := against(Options{SkipStart: 10 * time.Second}, recording(), runOf("closed"), l, cold)
	if v, total := verdictOf(t, r, slow); v != Same || total != Same || *r.SkipStartS != 10 {
		t.Errorf("%s, %s", v, total)
	}
	for i := range r.Runs {
		run, f := &r.Runs[i], &r.Total.Runs[i]
		if run.SkippedStart != 400 || run.Statements != 1200 || f.Count != 1200 || f.Failed() != 0 || run.Unmatched != 0 {
			t.Errorf("%d left out, %d counted, %d failed", run.SkippedStart, run.Statements, f.Failed())
		}
		near(t, "span", *run.SpanS, 29.95, 0.001)
		near(t, "rate", *run.StatementsPerS, 1200/29.95, 0.001)
	}
	if pairs := *r.Total.Change.Pairs; pairs != 1200 {
		t.Errorf("%d pairs", pairs)
	}
	var b bytes.Buffer
	if err := (Text{Escape: quoted4}).Write(&b, r); err != nil || !strings.Contains(b.String(), "base: 1,200 statements without 400 of the first 10.0s in ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// What a late replay was to send in the beginning is left out whenever it went
// out, and at twice the speed the beginning takes half as long.
func TestSkipStartFollowsTheSchedule(t *testing.T) {
	l := load{seconds: 20, perSecond: 20, statements: []*trace.Entry{fast}, us: 100}
	in := runOf("original")
	in.headers[0].Run.Speed = 2
	a := New(Options{SkipStart: 10 * time.Second})
	a.addEvents("base", recording(), l.events(1))
	l.change = func(e *trace.Event, _ int, _ *rand.Rand) { // half the gaps, seven seconds late
		e.HasDue, e.Due = true, e.Start/2
		e.Start = e.Due + 7e9
	}
	run := l.events(2)
	c := newCollector(a.index, 1, a.options)
	c.warmup.length = inTime(c.warmup.length, in.headers[0])
	c.warmup.first = func() (int64, bool) { return run[0].Due, true }
	for i := range run {
		c.event(&run[i], nil)
	}
	a.add(c, "run", in)
	r := a.Report()
	for i := range r.Runs {
		if n := r.Runs[i].SkippedStart; n != 200 {
			t.Errorf("run %d: %d left out, want 200", i, n)
		}
	}
}

// Blocks hold one session after the other: the beginning is that of the trace,
// not of the session that stands first.
func TestSkipStartOfAFile(t *testing.T) {
	for _, h := range []trace.Header{captured, replayed} {
		var b bytes.Buffer
		writeTrace(t, &b, h, 20_000, 5)
		var all []trace.Event
		if err := trace.NewReader(bytes.NewReader(b.Bytes()), "t").Each(func(e *trace.Event) error {
			all = append(all, trace.Event{Start: e.Start})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		first := all[0].Start
		for _, e := range all {
			first = min(first, e.Start)
		}
		for _, skip := range []time.Duration{time.Nanosecond, 50 * time.Millisecond, time.Second, time.Hour} {
			want := uint64(0)
			for _, e := range all {
				if e.Start-first < int64(skip) {
					want++
				}
			}
			a := New(Options{SkipStart: skip})
			if _, err := a.Add("t", trace.NewReader(bytes.NewReader(b.Bytes()), "t"), nil); err != nil {
				t.Fatal(err)
			}
			r := a.Report()
			if run := r.Runs[0]; run.SkippedStart != want || run.Statements != uint64(len(all))-want {
				t.Errorf("%s: %d left out, want %d; %d counted", skip, run.SkippedStart, want, run.Statements)
			}
			if skip == time.Hour && (warned(r, "all_skipped") == nil || warned(r, "empty") != nil || r.Runs[0].SpanS != nil) {
				t.Errorf("nothing is left: %+v", r.Warnings)
			}
		}
	}
}
