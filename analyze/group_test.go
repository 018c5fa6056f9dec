package analyze

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/trace"
)

func (a *Analysis) addMember(group, label string, in fixed, events []trace.Event) {
	c := newCollector(a.index, a.member(group), a.options)
	for i := range events {
		c.event(&events[i], nil)
	}
	a.join(c, group, label, in)
}

// repeated compares two groups of runs; each run as a whole is slower by its factor.
func repeated(base, run []float64) *Report {
	l := load{seconds: 20, perSecond: 20, statements: []*trace.Entry{fast, slow}, us: 400}
	a := New(Options{})
	a.group(l, "old", base, 1)
	a.group(l, "new", run, 100)
	return a.Report()
}

func (a *Analysis) group(l load, name string, factors []float64, seed uint64) {
	for i, f := range factors {
		l.change = slower(1, f)
		a.addMember(name, fmt.Sprint(name, "-", i+1), runOf("closed"), l.events(seed+uint64(i)))
	}
}

// AN-21: repeats per side. The unit is a run: what differs from run to run anyway
// is no change, however sure each single run is of itself.
func TestGroups(t *testing.T) {
	same := []float64{1, 1.02, 0.98, 1.01, 0.99}
	noisy := []float64{1, 1.5, 0.8, 1.3, 0.9}
	for _, c := range []struct {
		name      string
		base, run []float64
		want      Verdict
		why       string
	}{
		{"against itself", same, same, Same, ""},
		{"half as fast", same, []float64{2, 2.1, 1.9, 2, 2}, Degraded, ""},
		{"twice as fast", same, []float64{0.5, 0.5, 0.52, 0.5, 0.48}, Improved, ""},
		{"noise between runs", noisy, []float64{1.4, 0.9, 1, 1.1, 1.2}, Indeterminate, "it varies too much for so few runs"},
		{"three a side", same[:3], []float64{2, 2, 2}, Indeterminate, "too few runs"},
		{"a run against a group", same[:1], []float64{2, 2, 2, 2}, Indeterminate, "too few runs"},
	} {
		r := repeated(c.base, c.run)
		v, _ := verdictOf(t, r, slow)
		f := figuresOf(r, slow.Text)
		if v != c.want || r.Runs[0].Label != "old" || len(r.Runs) != 2 || len(r.Runs[1].Members) != len(c.run) {
			t.Errorf("%s: %s, want %s", c.name, v, c.want)
		}
		change := r.Fingerprints[0].Change
		if *change.By != byRuns || *change.Blocks != min(len(c.base), len(c.run)) || change.Pairs != nil {
			t.Errorf("%s: %+v", c.name, change)
		}
		if f.Count != uint64(400*len(c.base)) {
			t.Errorf("%s: %d statements", c.name, f.Count)
		}
		var b bytes.Buffer
		if err := (Text{Escape: quoted4, Width: 1000}).Write(&b, r); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{c.why, fmt.Sprintf("old: %s, ", plural(uint64(len(c.base)), "run")), "a side", "medians of its runs: old-1 "} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, b.String())
			}
		}
	}
}

// AN-11: a group's figures are those of all its statements together, not averages
// of its runs' figures.
func TestAGroupIsMerged(t *testing.T) {
	quick := load{seconds: 10, perSecond: 99, statements: []*trace.Entry{fast}, us: 100}
	stuck := load{seconds: 10, perSecond: 1, statements: []*trace.Entry{fast}, us: 100_000}
	together := New(Options{})
	other := stuck.events(2)
	for i := range other {
		other[i].Session = 77
	}
	together.addEvents("all", recording(), append(quick.events(1), other...))
	want := together.Report()
	for _, order := range [][]load{{quick, stuck}, {stuck, quick}} {
		a := New(Options{})
		for _, l := range order {
			seed := uint64(1)
			if l.us == stuck.us {
				seed = 2
			}
			a.addMember("all", "x", recording(), l.events(seed))
		}
		r := a.Report()
		for what, got := range map[string][2]Figures{
			"total": {r.Total.Runs[0], want.Total.Runs[0]}, "fingerprint": {r.Fingerprints[0].Runs[0], want.Fingerprints[0].Runs[0]},
		} {
			got[1].Worst = []Execution{} // names events of one run
			if !reflect.DeepEqual(got[0], got[1]) {
				t.Errorf("%s:\n got %+v\nwant %+v", what, got[0].Service, got[1].Service)
			}
		}
		run := r.Runs[0]
		if run.Statements != 1000 || run.Events != 1000 || math.Abs(*run.StatementsPerS - float64(1000) / *run.SpanS) > 1e-9 {
			t.Errorf("%+v", run)
		}
	}
}

// A group whose runs are not repetitions says so, and one run that was not
// measured well makes the group so.
func TestAGroupOfUnlikeRuns(t *testing.T) {
	l := load{seconds: 8, perSecond: 20, statements: []*trace.Entry{fast}, us: 300}
	a := New(Options{})
	a.addMember("old", "1", runOf("closed"), l.events(1))
	a.addMember("old", "2", runOf("think"), l.events(2))
	l.change = func(e *trace.Event, _ int, _ *rand.Rand) { e.HasDue, e.Due = true, e.Start-5_000_000 }
	a.addMember("new", "1", runOf("original"), l.events(3))
	l.change = func(e *trace.Event, _ int, _ *rand.Rand) { e.HasDue, e.Due = true, e.Start }
	a.addMember("new", "2", runOf("original"), l.events(4))
	r := a.Report()
	if w := warned(r, "unlike"); w == nil || !reflect.DeepEqual(w.Runs, []string{"old"}) {
		t.Errorf("warnings %+v", r.Warnings)
	}
	if v := r.Runs[1].Valid; v == nil || *v || r.Runs[1].ScheduleError.P99 < 4999 || *r.Verdict != Incomparable {
		t.Errorf("valid %v, verdict %s", v, *r.Verdict)
	}
}

// A statement that only some runs of a group have does not shift the samples of
// the others.
func TestAStatementOfSomeRuns(t *testing.T) {
	l := load{seconds: 10, perSecond: 20, statements: []*trace.Entry{fast, slow}, us: 300}
	a := New(Options{})
	for group, name := range []string{"old", "new"} {
		for i := range 4 {
			l.statements = []*trace.Entry{fast, slow}[:2-i%2]
			a.addMember(name, "x", runOf("closed"), l.events(uint64(10*group+i)))
		}
	}
	r := a.Report()
	for sql, blocks := range map[string]int{fast.Text: 4, slow.Text: 2} {
		for _, f := range r.Fingerprints {
			if f.SQL == sql && *f.Change.Blocks != blocks {
				t.Errorf("%s: %d runs, want %d", sql, *f.Change.Blocks, blocks)
			}
		}
	}
	if c := r.Total.Change; c.Verdict != Same || *c.Blocks != 4 {
		t.Errorf("total %+v", c)
	}
}
