package analyze

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/trace"
)

// fixed is an input whose events were given by hand.
type fixed struct {
	headers  []*trace.Header
	damage   []trace.Damage
	complete bool
	gaps     uint64
}

func (f fixed) Headers() []*trace.Header { return f.headers }
func (f fixed) Damage() []trace.Damage   { return f.damage }
func (f fixed) Complete() bool           { return f.complete }
func (f fixed) Gaps() (uint64, uint64)   { return f.gaps, 3 * f.gaps }
func (f fixed) LeftOut() uint64          { return 0 }

// recording is the input of a plain captured trace.
func recording() fixed {
	return fixed{headers: []*trace.Header{{Trace: "aa", Engine: "postgres", MadeBy: trace.ByCapture, Timing: trace.TimingOriginal}}, complete: true}
}

// runOf is the input of a run of the trace that recording describes.
func runOf(pace string) fixed {
	f := recording()
	f.headers[0] = &trace.Header{
		Trace: "bb", Engine: "postgres", MadeBy: trace.ByReplay, Timing: trace.TimingOriginal,
		Run: &trace.Run{Source: "aa", Pace: pace, Speed: 1, Target: "postgres://db"},
	}
	return f
}

// analysed runs the events of one trace through a collector.
func analysed(in fixed, events ...trace.Event) *Report {
	a := New(Options{})
	a.addEvents("t", in, events)
	return a.Report()
}

func (a *Analysis) addEvents(label string, in fixed, events []trace.Event) {
	c := newCollector(a.index, len(a.runs), a.options)
	for i := range events {
		c.event(&events[i], nil)
	}
	a.add(c, label, in)
}

func entry(op trace.Op, sql string) *trace.Entry { return &trace.Entry{Op: op, Text: sql} }

var (
	selectOne = entry(trace.OpQuery, "select 0")
	execOne   = entry(trace.OpExecute, "select $1")
	fetchOne  = entry(trace.OpFetch, "select $1")
	copyIn    = entry(trace.OpQuery, "copy t from stdin")
	copyData  = entry(trace.OpCopy, "")
	syncOnly  = entry(trace.OpSync, "")
	prepare   = entry(trace.OpPrepare, "select $1")
	connect   = entry(trace.OpConnect, "")
	ending    = entry(trace.OpEnd, "")
)

const us = 1000

// ev is an answered event: times in microseconds.
func ev(session uint64, e *trace.Entry, start, end int64) trace.Event {
	return trace.Event{
		Session: session, Start: start * us, Entry: e, RequestEnd: true, HasReply: true,
		Reply: trace.Reply{Took: (end - start) * us, Results: 1, Rows: 1, Bytes: 10, State: 'T'},
	}
}

// with changes an event in one way.
func with(e trace.Event, change func(*trace.Event)) trace.Event {
	change(&e)
	return e
}

func status(s trace.Status, reason string) func(*trace.Event) {
	return func(e *trace.Event) { e.Status, e.Reason = s, reason }
}

func suspended(e *trace.Event) { e.Results = 0 }

// samples are the service times that were recorded, if they are few and differ.
func samples(t *testing.T, l *Latency) []float64 {
	t.Helper()
	if l == nil {
		return nil
	}
	if l.Count == 1 {
		return []float64{l.Max}
	}
	if l.Count == 2 {
		return []float64{l.Min, l.Max}
	}
	t.Fatalf("%d samples", l.Count)
	return nil
}

func TestServiceTime(t *testing.T) {
	unanswered := with(ev(1, selectOne, 100, 100), func(e *trace.Event) { e.HasReply = false; e.Took = 0 })
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   []float64
	}{
		{"one statement", []trace.Event{ev(1, selectOne, 100, 130)}, []float64{30}},
		{"the client waits", []trace.Event{ev(1, selectOne, 100, 130), ev(1, selectOne, 200, 250)}, []float64{30, 50}},
		{
			"in a pipeline the second waits for the first",
			[]trace.Event{ev(1, execOne, 100, 130), ev(1, execOne, 101, 170)},
			[]float64{30, 40},
		},
		{"what comes before counts whatever it is", []trace.Event{ev(1, prepare, 100, 130), ev(1, execOne, 101, 170)}, []float64{40}},
		{
			"an error too",
			[]trace.Event{with(ev(1, execOne, 100, 130), status(trace.Error, "23505")), ev(1, execOne, 101, 170)},
			[]float64{40},
		},
		{"not what was never answered", []trace.Event{unanswered, ev(1, execOne, 101, 170)}, []float64{69}},
		{"other sessions do not matter", []trace.Event{ev(2, prepare, 100, 900), ev(1, execOne, 101, 170)}, []float64{69}},
		{
			"a statement that was overtaken took no time, not less",
			[]trace.Event{ev(1, prepare, 100, 130), ev(1, execOne, 101, 120)},
			[]float64{0},
		},
		{
			"COPY is one statement with the client's sending in it",
			[]trace.Event{ev(1, copyIn, 100, 500), ev(1, copyData, 200, 200), ev(1, copyData, 300, 300), ev(1, selectOne, 600, 650)},
			[]float64{50, 400},
		},
		{
			"what failed or was skipped or lost has no latency",
			[]trace.Event{
				with(ev(1, selectOne, 100, 130), status(trace.Error, "23505")),
				with(ev(1, selectOne, 200, 230), status(trace.Skipped, "aborted")),
				with(ev(1, selectOne, 300, 300), status(trace.Lost, "server_gone")),
				with(ev(1, selectOne, 300, 300), status(trace.Filtered, "redacted")),
				with(ev(1, selectOne, 300, 300), status(trace.Unsent, "interrupted")),
				ev(1, selectOne, 400, 407),
			},
			[]float64{7},
		},
		{
			"a fetch adds to its statement, the pause does not",
			[]trace.Event{with(ev(1, execOne, 100, 130), suspended), ev(1, fetchOne, 500, 505)},
			[]float64{35},
		},
		{
			"any number of fetches",
			[]trace.Event{
				with(ev(1, execOne, 100, 130), suspended), with(ev(1, fetchOne, 500, 505), suspended),
				with(ev(1, fetchOne, 600, 601), suspended), ev(1, fetchOne, 700, 710),
			},
			[]float64{46},
		},
		{
			"the latest suspended statement is the one that is fetched from",
			[]trace.Event{
				with(ev(1, execOne, 100, 130), suspended), with(ev(1, execOne, 200, 201), suspended),
				ev(1, fetchOne, 500, 505), ev(1, ending, 600, 600),
			},
			[]float64{6, 30},
		},
		{
			"the end of the transaction ends a suspended statement",
			[]trace.Event{
				with(ev(1, execOne, 100, 130), suspended),
				with(ev(1, syncOnly, 140, 145), func(e *trace.Event) { e.State = 'I' }),
				ev(1, fetchOne, 500, 505),
			},
			[]float64{30},
		},
		{"and so does that of the trace", []trace.Event{with(ev(1, execOne, 100, 130), suspended)}, []float64{30}},
		{
			"a failed fetch is a failed statement",
			[]trace.Event{with(ev(1, execOne, 100, 130), suspended), with(ev(1, fetchOne, 500, 505), status(trace.Error, "57014"))},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analysed(recording(), c.events...)
			if got := samples(t, r.Total.Runs[0].Service); !reflect.DeepEqual(got, c.want) {
				t.Errorf("service times %v, want %v", got, c.want)
			}
			if r.Total.Runs[0].Response != nil {
				t.Error("response times without a schedule")
			}
		})
	}
}

func TestResponseTimeIsFromWhenItWasDue(t *testing.T) {
	due := func(us_ int64) func(*trace.Event) {
		return func(e *trace.Event) { e.HasDue, e.Due = true, us_*us }
	}
	r := analysed(runOf("original"),
		with(ev(1, selectOne, 100, 400), due(100)),
		with(ev(1, selectOne, 400, 500), due(200)),
	)
	if got := samples(t, r.Total.Runs[0].Response); !reflect.DeepEqual(got, []float64{300, 300}) {
		t.Errorf("response times %v", got)
	}
	if got := samples(t, r.Total.Runs[0].Service); !reflect.DeepEqual(got, []float64{100, 300}) {
		t.Errorf("service times %v", got)
	}
	if got := r.Runs[0].ScheduleError; got.Max != 0 || got.Count != 2 {
		t.Errorf("the session was busy, nobody late: %+v", got)
	}
	if !*r.Runs[0].Valid {
		t.Error("not valid")
	}
	late := analysed(runOf("original"), with(ev(1, selectOne, 2200, 2300), due(200)))
	if *late.Runs[0].Valid || late.Runs[0].ScheduleError.Max != 2000 || warned(late, "not_valid") == nil {
		t.Errorf("late by 2 ms: %+v, %v", late.Runs[0], late.Warnings)
	}
}

func warned(r *Report, code string) *Warning {
	for i := range r.Warnings {
		if r.Warnings[i].Code == code {
			return &r.Warnings[i]
		}
	}
	return nil
}

func TestCounts(t *testing.T) {
	events := []trace.Event{
		ev(1, connect, 0, 10),
		with(ev(1, prepare, 20, 21), func(e *trace.Event) { e.RequestEnd = false }),
		ev(1, execOne, 22, 40),
		with(ev(1, selectOne, 50, 60), status(trace.Error, "23505")),
		with(ev(1, selectOne, 70, 80), status(trace.Error, "23505")),
		with(ev(1, selectOne, 90, 95), status(trace.Skipped, "aborted")),
		with(ev(1, selectOne, 96, 96), func(e *trace.Event) { e.HasReply = false; e.Rows, e.Bytes = 0, 0 }),
		with(ev(2, execOne, 22, 40), suspended),
		with(ev(2, fetchOne, 50, 60), status(trace.Error, "57014")),
		ev(2, entry('?', ""), 70, 71),
		ev(2, ending, 100, 100),
		ev(1, ending, 2_000_000, 2_000_000),
	}
	r := analysed(recording(), events...)
	got := r.Total.Runs[0]
	want := Figures{
		Count: 6, OK: 1, Rows: 6, ReplyBytes: 60, Fetches: 1, Worst: []Execution{}, curve: []float64{18},
		Errors:   map[string]uint64{"23505": 2, "57014": 1},
		Other:    map[string]map[string]uint64{"skipped": {"aborted": 1}, "lost": {"no_reply": 1}},
		SharePct: new(100.0), Service: recorded(18 * us).latency(),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if len(r.Fingerprints) != 1 || r.Fingerprints[0].SQL != "select ?" || r.Fingerprints[0].Op != "select" {
		t.Errorf("fingerprints %+v", r.Fingerprints)
	}
	run := r.Runs[0]
	wantOps := map[string]uint64{"connect": 1, "prepare": 1, "fetch": 1, "end": 2, "other": 1}
	if !reflect.DeepEqual(run.Operations, wantOps) || run.Events != 12 || run.Requests != 11 || run.Sessions != 2 || run.Statements != 6 {
		t.Errorf("run %+v", run)
	}
	if *run.SpanS != 2 || *run.StatementsPerS != 3 {
		t.Errorf("span %v, %v per second", *run.SpanS, *run.StatementsPerS)
	}
}

func TestNothingToReport(t *testing.T) {
	r := analysed(recording())
	if f := r.Total.Runs[0]; f.Count != 0 || f.Service != nil || f.SharePct != nil {
		t.Errorf("total %+v", f)
	}
	if warned(r, "empty") == nil {
		t.Errorf("warnings %v", r.Warnings)
	}
	if empty := New(Options{}).Report(); len(empty.Runs) != 0 || empty.Total.Change != nil {
		t.Errorf("report of no trace %+v", empty)
	}
}

// AN-10, AN-22: memory has a bound, and what is beyond it is counted in one row.
func TestFingerprintsBeyondTheLimitShareARow(t *testing.T) {
	a := New(Options{MaxFingerprints: 2})
	var first, second []trace.Event
	for i := range int64(5) {
		first = append(first, ev(1, entry(trace.OpQuery, fmt.Sprintf("select a%d", i)), i*100, i*100+10))
		second = append(second, ev(1, entry(trace.OpQuery, fmt.Sprintf("select a%d", 4-i)), i*100, i*100+20))
	}
	a.addEvents("one", recording(), first)
	a.addEvents("two", runOf("closed"), second)
	r := a.Report()
	counts := map[string][2]uint64{}
	for _, f := range r.Fingerprints {
		counts[f.ID] = [2]uint64{f.Runs[0].Count, f.Runs[1].Count}
	}
	if len(counts) != 3 || counts["other"] != [2]uint64{3, 3} {
		t.Errorf("counts %v", counts)
	}
}

func TestManyReasonsAreBounded(t *testing.T) {
	var events []trace.Event
	for i := range int64(10_000) {
		events = append(events, with(ev(1, selectOne, i, i), status(trace.Error, fmt.Sprint(i))))
	}
	errors := analysed(recording(), events...).Total.Runs[0].Errors
	if len(errors) > maxOutcomes+1 || errors["other"] != 10_000-maxOutcomes {
		t.Errorf("%d codes, other %d", len(errors), errors["other"])
	}
}

func TestDivergence(t *testing.T) {
	diverged := func(d trace.Diverged) func(*trace.Event) { return func(e *trace.Event) { e.Diverged = d } }
	events := []trace.Event{
		ev(1, selectOne, 0, 1),
		with(ev(1, selectOne, 2, 3), diverged(trace.DivergedRows)),
		with(ev(1, selectOne, 4, 5), diverged(trace.DivergedRows|trace.DivergedStatus)),
		with(ev(1, selectOne, 6, 7), diverged(trace.DivergedResult)),
	}
	if got := *analysed(runOf("closed"), events...).Total.Runs[0].Diverged; got != (Diverged{Statements: 3, Status: 1, Rows: 2, Result: 1}) {
		t.Errorf("got %+v", got)
	}
	if got := analysed(recording(), events[0]).Total.Runs[0].Diverged; got != nil {
		t.Errorf("a recording diverges from nothing: %+v", got)
	}
}

func TestWarnings(t *testing.T) {
	base, other := runOf("closed"), runOf("original")
	other.headers[0].Run.Speed = 2
	other.headers[0].Run.Source = "cc"
	other.headers[0].Engine = "mysql"
	other.damage = []trace.Damage{{File: "f", From: 1, To: 2, What: "torn"}}
	torn := runOf("closed")
	torn.headers = append(torn.headers, runOf("original").headers...)
	torn.complete = false
	torn.gaps = 2
	a := New(Options{})
	for i, in := range []fixed{base, other, torn} {
		a.addEvents(fmt.Sprint(i), in, []trace.Event{ev(1, selectOne, 0, 1)})
	}
	got := map[string][]string{}
	for _, w := range a.Report().Warnings {
		got[w.Code] = w.Runs
	}
	want := map[string][]string{
		"damaged": {"1"}, "incomplete": {"2"}, "gaps": {"2"}, "mixed": {"2"}, "different_source": {"1"}, "different_engine": {"1"},
		"different_pace": {"1"}, "different_speed": {"1"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// How sessions interleave, which is what merging files in another order
// changes, does not change the report.
func TestMergeOrderDoesNotMatter(t *testing.T) {
	ops := []*trace.Entry{selectOne, execOne, fetchOne, copyIn, copyData, prepare, syncOnly, ending}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var sessions [5][]trace.Event
		for id := range sessions {
			at := int64(0)
			for range r.IntN(40) {
				e := ev(uint64(id), ops[r.IntN(len(ops))], at+r.Int64N(50), at+50+r.Int64N(100))
				e.Results = uint32(r.IntN(2))
				e.Status = trace.Status(r.IntN(8) / 6 * r.IntN(6))
				e.State = "ITE"[r.IntN(3)]
				at += r.Int64N(120)
				sessions[id] = append(sessions[id], e)
			}
		}
		want := analysed(recording(), mixed(rand.New(rand.NewPCG(0, 0)), sessions)...)
		got := analysed(recording(), mixed(r, sessions)...)
		got.Runs[0].clock.origin = want.Runs[0].clock.origin // samples are relative to it
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		accounts(t, want)
	})
}

// accounts checks the sums: each statement has one outcome, each that was
// answered without an error has one service time, and the total is the sum of
// the fingerprints.
func accounts(t interface{ Errorf(string, ...any) }, r *Report) {
	for i, total := range r.Total.Runs {
		var count, ok, timed uint64
		for _, f := range r.Fingerprints {
			run := f.Runs[i]
			other := uint64(0)
			for _, reasons := range run.Other {
				for _, n := range reasons {
					other += n
				}
			}
			if run.Count != run.OK+run.Failed()+other || other != run.Unanswered() {
				t.Errorf("%s: %d statements are not %d ok, %d failed, %d other", f.SQL, run.Count, run.OK, run.Failed(), other)
			}
			if run.Service != nil {
				timed += run.Service.Count
			}
			count, ok = count+run.Count, ok+run.OK
		}
		if count != total.Count || ok != total.OK || timed != ok {
			t.Errorf("fingerprints have %d statements, %d ok, %d timed; the total %d, %d", count, ok, timed, total.Count, total.OK)
		}
	}
}

// mixed interleaves sessions, each in its own order.
func mixed(r *rand.Rand, sessions [5][]trace.Event) []trace.Event {
	var all []trace.Event
	for left := len(sessions); left > 0; {
		i := r.IntN(len(sessions))
		n := min(1+r.IntN(5), len(sessions[i]))
		all = append(all, sessions[i][:n]...)
		sessions[i] = sessions[i][n:]
		left = 0
		for _, s := range sessions {
			left += len(s)
		}
	}
	return all
}

func TestNoAllocationPerEvent(t *testing.T) {
	c := newCollector(newIndex(10), 0, Options{})
	events := []trace.Event{
		ev(1, execOne, 0, 100), ev(1, selectOne, 150, 250), with(ev(1, execOne, 300, 330), suspended), ev(1, fetchOne, 340, 350),
		with(ev(2, selectOne, 50, 60), status(trace.Error, "23505")), ev(2, ending, 70, 70),
	}
	feed := func() {
		for i := range events {
			c.event(&events[i], nil)
		}
	}
	feed()
	if n := testing.AllocsPerRun(1000, feed); n > 0 {
		t.Errorf("%v allocations for %d events", n, len(events))
	}
}

func BenchmarkCollect(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var entries []*trace.Entry
	for i := range 1000 {
		entries = append(entries, entry(trace.OpExecute, fmt.Sprintf("select a%d from t where id = $1", i)))
	}
	events := make([]trace.Event, 1<<16)
	at := int64(0)
	for i := range events {
		at += 10 + r.Int64N(1000)
		events[i] = ev(uint64(i/100%32), entries[r.IntN(len(entries))], at, at+50+r.Int64N(200))
	}
	c := newCollector(newIndex(DefaultFingerprints), 0, Options{})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.event(&events[i&(len(events)-1)], nil)
		i++
	}
}

// AN-20: a rate is of the time that went by, however long statements take and
// whatever idles in between.
func TestRateIsOfTheTimeThatWentBy(t *testing.T) {
	var events []trace.Event
	for i := range int64(10) {
		events = append(events, ev(1, selectOne, i*3e6, i*3e6+2e6))
	}
	events = append(events, ev(1, selectOne, 98e6, 100e6)) // after a pause
	run := analysed(recording(), events...).Runs[0]
	near(t, "span", *run.SpanS, 100, 1e-9)
	near(t, "rate", *run.StatementsPerS, 0.11, 1e-9)
}
