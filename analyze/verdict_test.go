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

// load is a run of some statements, each of which is executed so often a second.
type load struct {
	seconds, perSecond int
	statements         []*trace.Entry
	us                 float64
	change             func(e *trace.Event, which int, r *rand.Rand) // of each event, before it is used
}

var (
	fast = entry(trace.OpQuery, "select fast")
	slow = entry(trace.OpQuery, "select slow")
)

func (l load) events(seed uint64) []trace.Event {
	r := rand.New(rand.NewPCG(seed, 9))
	var events []trace.Event
	every := int64(1e6) / int64(l.perSecond) // µs
	for i := range int64(l.seconds * l.perSecond) {
		for which, entry := range l.statements {
			at := i * every
			e := ev(uint64(which), entry, at, at+int64(l.us*math.Exp(0.3*r.NormFloat64())))
			e.Ordinal = uint64(i)
			if l.change != nil {
				l.change(&e, which, r)
			}
			events = append(events, e)
		}
	}
	return events
}

func slower(which int, factor float64) func(*trace.Event, int, *rand.Rand) {
	return func(e *trace.Event, w int, _ *rand.Rand) {
		if w == which {
			e.Took = int64(float64(e.Took) * factor)
		}
	}
}

func failing(which, percent int, s trace.Status) func(*trace.Event, int, *rand.Rand) {
	return func(e *trace.Event, w int, r *rand.Rand) {
		if w == which && r.IntN(100) < percent {
			e.Status, e.Reason, e.Took = s, "40001", us
		}
	}
}

func diverging(percent int) func(*trace.Event, int, *rand.Rand) {
	return func(e *trace.Event, _ int, r *rand.Rand) {
		if r.IntN(100) < percent {
			e.Diverged = trace.DivergedRows
		}
	}
}

// against compares a run with a base run of the same load without changes.
func against(o Options, base, run fixed, l load, change func(*trace.Event, int, *rand.Rand)) *Report {
	a := New(o)
	a.addEvents("base", base, l.events(1))
	l.change = change
	a.addEvents("run", run, l.events(2))
	return a.Report()
}

// verdictOf is that on one statement and on all.
func verdictOf(t *testing.T, r *Report, sql *trace.Entry) (Verdict, Verdict) {
	t.Helper()
	for i := range r.Fingerprints {
		if f := &r.Fingerprints[i]; f.SQL == sql.Text {
			if f.Change != f.Runs[1].Change || f.Change.Verdict != *f.Verdict {
				t.Errorf("%s: verdict %s, change %+v", f.SQL, *f.Verdict, f.Change)
			}
			return *f.Verdict, *r.Verdict
		}
	}
	t.Fatalf("no statement %q", sql.Text)
	return "", ""
}

func TestVerdicts(t *testing.T) {
	minute := load{seconds: 60, perSecond: 30, statements: []*trace.Entry{fast, slow}, us: 500}
	short, few := minute, minute
	short.seconds, few.seconds, few.perSecond = 4, 4, 1
	other := runOf("closed")
	other.headers[0].Run.Source = "cc"
	for _, c := range []struct {
		name        string
		load        load
		run         fixed
		change      func(*trace.Event, int, *rand.Rand)
		slow, total Verdict
		why         string
	}{
		{"nothing changed", minute, runOf("closed"), nil, Same, Same, ""},
		{"twice as slow", minute, runOf("closed"), slower(1, 2), Degraded, Degraded, ""},
		{"twice as fast", minute, runOf("closed"), slower(1, 0.5), Improved, Improved, ""},
		{"less than matters", minute, runOf("closed"), slower(1, 1.01), Same, Same, ""},
		{"another trace", minute, other, slower(1, 2), Degraded, Degraded, ""},
		{"another trace, nothing changed", minute, other, nil, Same, Same, ""},
		{"too short", short, runOf("closed"), slower(1, 2), Indeterminate, Indeterminate, "too few blocks of time (4)"},
		{"a few", few, other, slower(1, 2), Indeterminate, Indeterminate, "too few blocks of time (4)"},
		{"a tenth fails, fast", minute, runOf("closed"), failing(1, 10, trace.Error), Errored, Errored, "failed or were skipped"},
		{"a tenth is skipped", minute, runOf("closed"), failing(1, 10, trace.Skipped), Errored, Errored, "failed or were skipped"},
		{"all fail", minute, runOf("closed"), failing(1, 100, trace.Error), Errored, Errored, "1,800 of 1,800"},
		{"left out", minute, runOf("closed"), failing(1, 100, trace.Filtered), Incomparable, Same, "none succeeded in run"},
		{"diverged", minute, runOf("closed"), diverging(10), Incomparable, Incomparable, "diverged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := against(Options{}, recording(), c.run, c.load, c.change)
			slowIs, totalIs := verdictOf(t, r, slow)
			if slowIs != c.slow || totalIs != c.total {
				t.Errorf("%s, in total %s; want %s, %s\n%+v", slowIs, totalIs, c.slow, c.total, *r.Total.Change)
			}
			if fastIs, _ := verdictOf(t, r, fast); c.slow != c.total && fastIs != Same || c.slow == Degraded && fastIs != Same {
				t.Errorf("the other statement is %s", fastIs)
			}
			var b bytes.Buffer
			if err := (Text{Escape: quoted4}).Write(&b, r); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), c.why) {
				t.Errorf("no %q in\n%s", c.why, b.String())
			}
		})
	}
}

// How many statements stand behind a verdict: those that both runs have and that
// succeeded with the recorded outcome in both.
func TestPairs(t *testing.T) {
	l := load{seconds: 20, perSecond: 50, statements: []*trace.Entry{fast}, us: 300}
	r := against(Options{MaxDiverged: new(50.0)}, recording(), runOf("closed"), l, func(e *trace.Event, _ int, _ *rand.Rand) {
		switch e.Ordinal % 10 {
		case 0:
			e.Status, e.Reason = trace.Error, "57014"
		case 1:
			e.Diverged = trace.DivergedRows
		}
	})
	if c := r.Fingerprints[0].Change; c.Pairs == nil || *c.Pairs != 800 || c.Verdict != Same || *c.By != byPairs || *c.Blocks != 20 {
		t.Errorf("%+v, %d pairs", c, value(c.Pairs))
	}
	if c := r.Comparisons[0]; !reflect.DeepEqual(c.NewErrors, []string{"57014"}) || len(c.GoneErrors) != 0 {
		t.Errorf("%+v", c)
	}
}

// A run that was not measured well is not comparable, whatever it says.
func TestRunsThatCannotBeCompared(t *testing.T) {
	l := load{seconds: 20, perSecond: 10, statements: []*trace.Entry{fast}, us: 300}
	lateBy := func(e *trace.Event, _ int, _ *rand.Rand) { e.HasDue, e.Due = true, e.Start-5_000_000 }
	for name, c := range map[string]struct {
		change func(*trace.Event, int, *rand.Rand)
		why    string
	}{
		"late":     {lateBy, "run is not valid: the replayer itself was late"},
		"nothing":  {failing(0, 100, trace.Unsent), "run has no statement that succeeded"},
		"diverged": {diverging(5), "of the statements of run diverged from the recording, allowed are 1%"},
	} {
		r := against(Options{}, recording(), runOf("original"), l, c.change)
		if why := strings.Join(r.Comparisons[0].Why, ""); *r.Verdict != Incomparable || *r.Fingerprints[0].Verdict != Incomparable || !strings.Contains(why, c.why) {
			t.Errorf("%s: %s, %s, why %q", name, *r.Verdict, *r.Fingerprints[0].Verdict, why)
		}
		var b bytes.Buffer
		if err := (Text{Escape: quoted4}).Write(&b, r); err != nil || !strings.Contains(b.String(), "run against base: NOT COMPARABLE") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
		if err := (Text{Escape: quoted4}).Markdown(&b, r); err != nil || strings.Contains(b.String(), "incomparable") {
			t.Errorf("%s: each statement says again what the headline said: %v\n%s", name, err, b.String())
		}
	}
}

// A tail on one in a hundred is found where it is.
func TestTail(t *testing.T) {
	l := load{seconds: 60, perSecond: 60, statements: []*trace.Entry{fast, slow}, us: 300}
	r := against(Options{}, recording(), runOf("closed"), l, func(e *trace.Event, which int, r *rand.Rand) {
		if which == 1 && r.IntN(100) == 0 {
			e.Took *= 20
		}
	})
	f := r.Fingerprints[0]
	if f.SQL != slow.Text || *f.Verdict != Degraded || f.Change.Metric != metricTail || f.Runs[1].Median.Verdict != Same {
		t.Errorf("%s: %s by %s, median %s", f.SQL, *f.Verdict, f.Change.Metric, f.Runs[1].Median.Verdict)
	}
	if v, _ := verdictOf(t, r, fast); v != Same {
		t.Errorf("the other is %s", v)
	}
}

// What failed stands first, then what changed, by the time that it costs; a
// statement that takes most of the time and did not change comes after.
func TestOrderOfStatements(t *testing.T) {
	var all []*trace.Entry
	for i := range 5 {
		all = append(all, entry(trace.OpQuery, fmt.Sprintf("select s%d", i)))
	}
	l := load{seconds: 30, perSecond: 20, statements: all, us: 200}
	cost := []float64{100, 1, 2, 4, 1}
	a := New(Options{})
	l.change = func(e *trace.Event, which int, _ *rand.Rand) { e.Took = int64(float64(e.Took) * cost[which]) }
	a.addEvents("base", recording(), l.events(1))
	l.change = func(e *trace.Event, which int, r *rand.Rand) {
		e.Took = int64(float64(e.Took) * cost[which] * []float64{1, 1, 2, 2, 1}[which])
		failing(4, 5, trace.Error)(e, which, r)
	}
	a.addEvents("run", runOf("closed"), l.events(2))
	var got []string
	for _, f := range a.Report().Fingerprints {
		got = append(got, fmt.Sprint(f.SQL, " ", *f.Verdict))
	}
	want := []string{"select s4 errored", "select s3 degraded", "select s2 degraded", "select s0 same", "select s1 same"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A statement that only one run has is no news of speed.
func TestStatementsOfOneRunOnly(t *testing.T) {
	l := load{seconds: 10, perSecond: 20, statements: []*trace.Entry{fast}, us: 300}
	a := New(Options{})
	a.addEvents("before", recording(), l.events(1))
	l.statements = []*trace.Entry{slow}
	a.addEvents("after", runOf("closed"), l.events(2))
	for _, f := range a.Report().Fingerprints {
		want := map[string]string{fast.Text: "not in after", slow.Text: "not in before"}[f.SQL]
		if *f.Verdict != Incomparable || *f.Change.Why != want || f.Change.TimeUS != nil {
			t.Errorf("%s: %+v, want %q", f.SQL, *f.Change, want)
		}
	}
}

// The options are what they say.
func TestLimits(t *testing.T) {
	l := load{seconds: 60, perSecond: 40, statements: []*trace.Entry{fast}, us: 300}
	for _, c := range []struct {
		name   string
		o      Options
		change func(*trace.Event, int, *rand.Rand)
		want   Verdict
	}{
		{"a tenth slower matters", Options{}, slower(0, 1.1), Degraded},
		{"not if it need not", Options{Effect: 20}, slower(0, 1.1), Same},
		{"2 % of failures matter", Options{}, failing(0, 2, trace.Error), Errored},
		{"not if they may be", Options{MaxDiverged: new(5.0)}, failing(0, 2, trace.Error), Same},
		{"so do 2 % of divergence", Options{}, diverging(2), Incomparable},
		{"not if it may be", Options{MaxDiverged: new(5.0)}, diverging(2), Same},
		{"0 allows none", Options{MaxDiverged: new(0.0)}, func(e *trace.Event, _ int, _ *rand.Rand) {
			if e.Ordinal == 7 {
				e.Diverged = trace.DivergedRows
			}
		}, Incomparable},
	} {
		r := against(c.o, recording(), runOf("closed"), l, c.change)
		if got, _ := verdictOf(t, r, fast); got != c.want {
			t.Errorf("%s: %s, want %s: %+v", c.name, got, c.want, *r.Fingerprints[0].Change)
		}
	}
	wide := against(Options{Confidence: 99.9}, recording(), runOf("closed"), l, nil).Fingerprints[0].Change.CI
	narrow := against(Options{Confidence: 80}, recording(), runOf("closed"), l, nil).Fingerprints[0].Change.CI
	if wide[1]-wide[0] <= narrow[1]-narrow[0] {
		t.Errorf("99.9 %%: %v, 80 %%: %v", *wide, *narrow)
	}
}

// Each run has a verdict of its own against the first.
func TestThreeRuns(t *testing.T) {
	l := load{seconds: 30, perSecond: 40, statements: []*trace.Entry{fast}, us: 300}
	a := New(Options{})
	for i, factor := range []float64{1, 1, 3} {
		l.change = slower(0, factor)
		a.addEvents(fmt.Sprint(i), runOf("closed"), l.events(uint64(i)))
	}
	r := a.Report()
	runs := r.Fingerprints[0].Runs
	if runs[0].Change != nil || runs[1].Change.Verdict != Same || runs[2].Change.Verdict != Degraded || r.Comparisons[1].Verdict != Degraded || *r.Verdict != Same {
		t.Errorf("%+v %+v", r.Comparisons, *runs[1].Change)
	}
	near := 100 * (3 - 1)
	if pct := *runs[2].Change.Pct; math.Abs(pct-float64(near)) > 20 {
		t.Errorf("%g%%", pct)
	}
}

// Where most executions of a statement are faster and some much slower, the
// median and the total time disagree: the report says why, not just both.
func TestATotalTimeThatContradictsTheMedian(t *testing.T) {
	l := load{seconds: 60, perSecond: 30, statements: []*trace.Entry{fast}, us: 300}
	for _, c := range []struct {
		usual, rare float64
		verdict     Verdict
		want, not   string
	}{
		{0.8, 40, Improved, "; yet the total time rose by", "lost"},
		{1.25, 0.8, Degraded, " lost", "yet"},
		{0.8, 1, Improved, " gained", "yet"},
	} {
		r := against(Options{}, recording(), runOf("closed"), l, func(e *trace.Event, _ int, _ *rand.Rand) {
			factor := c.usual
			if e.Ordinal%30 == 0 {
				factor = c.rare
			}
			e.Took = int64(float64(e.Took) * factor)
		})
		if v, _ := verdictOf(t, r, fast); v != c.verdict {
			t.Fatalf("%s, want %s", v, c.verdict)
		}
		var b bytes.Buffer
		if err := (Text{Escape: quoted4, Width: 1000}).Write(&b, r); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "  run ") && (!strings.Contains(line, c.want) || strings.Contains(line, c.not)) {
				t.Errorf("%g, %g: want %q and no %q in %q", c.usual, c.rare, c.want, c.not, line)
			}
		}
	}
}

// AN-21: runs at another speed or pace, or of another trace, are compared with a
// warning.
func TestUnlikeRunsHaveAWarning(t *testing.T) {
	faster, paced, foreign := runOf("original"), runOf("think"), runOf("original")
	faster.headers[0].Run.Speed = 4
	foreign.headers[0].Run.Source = "cc"
	l := load{seconds: 2, perSecond: 5, statements: []*trace.Entry{fast}, us: 300}
	for code, run := range map[string]fixed{"different_speed": faster, "different_pace": paced, "different_source": foreign} {
		r := against(Options{}, runOf("original"), run, l, nil)
		if w := warned(r, code); len(r.Warnings) != 1 || w == nil || !reflect.DeepEqual(w.Runs, []string{"run"}) {
			t.Errorf("%s: %+v", code, r.Warnings)
		}
	}
}
