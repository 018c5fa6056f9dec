package analyze

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

func parsed(t *testing.T, text string) *filter.Filter {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func analysedWhere(t *testing.T, where string, in fixed, events ...trace.Event) *Report {
	t.Helper()
	a := New(Options{Where: parsed(t, where)})
	a.addEvents("t", in, events)
	return a.Report()
}

// What a filter keeps has the figures it has without one: what it leaves out
// still took its time on the server, and fetches stay with their statements.
func TestWhereKeepsFigures(t *testing.T) {
	execTwo, fetchTwo := entry(trace.OpExecute, "select 2 from b"), entry(trace.OpFetch, "select 2 from b")
	events := append(shop(1, 3, false),
		ev(9, execOne, 100, 130), ev(9, execTwo, 101, 170), // a pipeline
		with(ev(9, execTwo, 200, 210), suspended), with(ev(9, execOne, 220, 230), suspended),
		with(ev(9, fetchTwo, 300, 320), suspended), ev(9, fetchOne, 400, 440),
		with(ev(9, fetchTwo, 500, 530), status(trace.Error, "57014")),
		ev(10, fetchTwo, 600, 630), // of a statement before the trace
	)
	whole := analysed(recording(), events...)
	for _, where := range []string{"table:b", "-table:b", "op:select", "text:$1"} {
		r := analysedWhere(t, where, recording(), events...)
		if len(r.Fingerprints) == 0 || len(r.Fingerprints) == len(whole.Fingerprints) {
			t.Errorf("%s keeps %d fingerprints of %d", where, len(r.Fingerprints), len(whole.Fingerprints))
		}
		count := uint64(0)
		for _, got := range r.Fingerprints {
			want := figuresOf(whole, got.SQL)
			got.Runs[0].SharePct, want.SharePct = nil, nil
			if !reflect.DeepEqual(got.Runs[0], want) {
				t.Errorf("%s, %s:\n got %+v\nwant %+v", where, got.SQL, got.Runs[0], want)
			}
			count += want.Count
		}
		run := &r.Runs[0]
		if run.Statements != count || run.Statements+run.Unmatched != whole.Runs[0].Statements || r.Total.Runs[0].Count != count {
			t.Errorf("%s: %d statements and %d unmatched of %d", where, run.Statements, run.Unmatched, whole.Runs[0].Statements)
		}
		if run.Events != whole.Runs[0].Events || *run.SpanS != *whole.Runs[0].SpanS {
			t.Errorf("%s: %+v", where, run)
		}
		if r.Where == nil || *r.Where != where || warned(r, "where") == nil {
			t.Errorf("%s: the report says %v, %v", where, r.Where, r.Warnings)
		}
		var text strings.Builder
		if err := (Text{Escape: quoted4}).Write(&text, r); err != nil || !strings.Contains(text.String(), "statements (where "+where+")") {
			t.Errorf("%v, %s", err, text.String())
		}
	}
}

func figuresOf(r *Report, sql string) Figures {
	for _, fp := range r.Fingerprints {
		if fp.SQL == sql {
			return fp.Runs[0]
		}
	}
	return Figures{}
}

// A fetch belongs to its statement whatever it took itself.
func TestWhereByTime(t *testing.T) {
	r := analysedWhere(t, "took>50us", recording(),
		with(ev(1, execOne, 0, 100), suspended), ev(1, fetchOne, 110, 120), // counted
		with(ev(1, execOne, 200, 210), suspended), ev(1, fetchOne, 220, 320), // not
	)
	f := r.Total.Runs[0]
	if f.Count != 1 || f.Fetches != 1 || f.Rows != 2 || f.Service.Count != 1 || f.Service.Max != 110 || r.Runs[0].Unmatched != 1 {
		t.Errorf("%+v, %+v", f, f.Service)
	}
}

func TestWhereNothingMatches(t *testing.T) {
	r := analysedWhere(t, "op:vacuum", recording(), ev(1, selectOne, 0, 1))
	if warned(r, "no_match") == nil || warned(r, "empty") != nil || len(r.Fingerprints) != 0 || r.Total.Runs[0].Service != nil {
		t.Errorf("%+v", r)
	}
}

// Whether the replayer was on time does not depend on what one looks at.
func TestWhereDoesNotChangeValid(t *testing.T) {
	due := func(late int64) func(*trace.Event) {
		return func(e *trace.Event) { e.HasDue, e.Due = true, e.Start-late*us }
	}
	slow := entry(trace.OpQuery, "select slow")
	var events []trace.Event
	for i := range int64(100) { // 2 ms late; nine in ten take 1 ms, one takes a second
		q, took := selectOne, int64(1000)
		if i%10 == 0 {
			q, took = slow, 1_000_000
		}
		events = append(events, with(ev(uint64(i), q, 10_000, 10_000+took), due(2000)))
	}
	whole := analysed(runOf("original"), events...)
	r := analysedWhere(t, "text:slow", runOf("original"), events...)
	if whole.Runs[0].Valid == nil || *whole.Runs[0].Valid || r.Runs[0].Valid == nil || *r.Runs[0].Valid {
		t.Errorf("valid: %v without a filter, %v with one", *whole.Runs[0].Valid, *r.Runs[0].Valid)
	}
}

func TestWhereAllocatesNothingPerEvent(t *testing.T) {
	c := newCollector(newIndex(10), 0, Options{Where: parsed(t, "op:select db:shop took<1s")})
	shop := &trace.State{Database: "shop"}
	events := []trace.Event{ev(1, selectOne, 0, 50), with(ev(1, execOne, 60, 90), suspended), ev(1, fetchOne, 100, 110), ev(1, copyIn, 120, 130)}
	feed := func() {
		for i := range events {
			c.event(&events[i], shop)
		}
	}
	feed()
	if n := testing.AllocsPerRun(1000, feed); n > 0 {
		t.Errorf("%v allocations for %d events", n, len(events))
	}
}

func BenchmarkCollectWhere(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	f, err := filter.Parse("op:select took>10us db:shop")
	if err != nil {
		b.Fatal(err)
	}
	events := make([]trace.Event, 1<<16)
	for i := range events {
		events[i] = ev(uint64(i/100%32), selectOne, int64(i), int64(i)+r.Int64N(20))
	}
	c, shop := newCollector(newIndex(DefaultFingerprints), 0, Options{Where: f}), &trace.State{Database: "shop"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.event(&events[i&(len(events)-1)], shop)
	}
}

// BenchmarkAnalyzeWhere reads a trace from memory and counts half of it.
func BenchmarkAnalyzeWhere(b *testing.B) {
	const events = 2_000_000
	var file bytes.Buffer
	writeTrace(b, &file, captured, events, 1000)
	for _, where := range []string{"op:select took>100us", "db:shop -table:t1"} {
		b.Run(where, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := filter.Parse(where)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := New(Options{Where: f}).Add("t", trace.NewReader(bytes.NewReader(file.Bytes()), "bench"), nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*events/b.Elapsed().Seconds(), "stmt/s")
		})
	}
}
