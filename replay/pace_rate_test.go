package replay

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrace-db/retrace/trace"
)

func rated(perSecond float64) func(*Options) {
	return func(o *Options) { o.Pace, o.Rate = PaceRate, perSecond }
}

// A busy session keeps its requests waiting, and the lag says so; what others
// send is not held up.
func TestRateIsAnOpenLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		a, b := tp.session(0, nil), tp.session(0, nil)
		a.query(10*ms, ms, "select slow") // number 0, due at 0
		b.query(20*ms, ms, "select 1")    // number 1, due at 100 ms
		a.query(21*ms, ms, "select 2")    // number 2, due at 200 ms
		b.query(5000*ms, ms, "select 3")  // number 3, due at 300 ms
		a.end(6 * time.Second)
		b.end(7 * time.Second)
		f := &fake{work: func(sql string) time.Duration {
			if sql == "select slow" {
				return time.Second
			}
			return 0
		}}
		sum := play(t, tp, f, rated(10))
		mustTally(t, sum, Tally{Captured: 4, OK: 4})
		mustOffsets(t, f, 0, 100*ms, 300*ms, 1000*ms)
		if sum.ScheduleErrorUS.Max != 0 || sum.LagUS.Max != 800_000 || *sum.KeptUp || sum.Speed != nil || *sum.RatePerS != 10 {
			t.Errorf("%+v %+v", sum.LagUS, sum)
		}
	})
}

// A trace without times gives its sessions turns.
func TestRateInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t, func(h *trace.Header, _ *trace.WriterOptions) { h.Timing = trace.TimingClosedLoop })
		for _, sql := range []string{"select a", "select b", "select c"} {
			s := tp.session(0, nil)
			for range 4 {
				s.query(10*ms, 0, sql)
			}
			s.end(10 * ms)
		}
		f := &fake{}
		mustTally(t, play(t, tp, f, rated(100)), Tally{Captured: 12, OK: 12})
		want := make([]time.Duration, 12)
		for i := range want {
			want[i] = time.Duration(i) * 10 * ms
		}
		mustOffsets(t, f, want...)
		mustSQL(t, f, []string{
			"select a", "select b", "select c", "select a", "select b", "select c",
			"select a", "select b", "select c", "select a", "select b", "select c",
		})
	})
}

// A request counts once, whatever it is made of, and the data of a COPY do not.
func TestRateCountsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		s := tp.session(0, nil)
		pipeline := join(parse("", "select 1"), bind(""), execute())
		s.event(what{op: trace.OpExecute, bytes: pipeline, at: 10 * ms, took: ms, rows: 1, open: true})
		s.event(what{op: trace.OpExecute, bytes: join(pipeline, syncs()), at: 10 * ms, took: ms, rows: 1})
		s.event(what{op: trace.OpQuery, bytes: query("copy t from stdin"), at: 20 * ms, took: 10 * ms})
		s.event(what{op: trace.OpCopy, bytes: copyData("1\n"), at: 22 * ms})
		s.event(what{op: trace.OpCopy, bytes: copyDone(), at: 24 * ms})
		s.query(40*ms, ms, "select 2")
		s.end(50 * ms)
		f := &fake{}
		sum := play(t, tp, f, rated(1))
		mustTally(t, sum, Tally{Captured: 4, OK: 4})
		mustOffsets(t, f, 0, 0, time.Second, 2*time.Second)
	})
}

// A rate that nothing keeps up with is as fast as the sessions are; one near
// zero never gets to its second request.
func TestExtremeRates(t *testing.T) {
	for rate, want := range map[float64]Tally{1e300: {Captured: 50, OK: 50}, 1e-300: {Captured: 50, OK: 1, Unsent: 49}} {
		synctest.Test(t, func(t *testing.T) {
			tp := newTape(t)
			s := tp.session(0, nil)
			for n := range 50 {
				s.query(time.Duration(n+1)*time.Hour, ms, "select 1")
			}
			s.end(1000 * time.Hour)
			sum := play(t, tp, &fake{work: works(ms)}, rated(rate), func(o *Options) { o.Duration = time.Minute })
			if !sum.Accounted || sum.Statements != want {
				t.Errorf("%g: %+v", rate, sum.Statements)
			}
		})
	}
}

// The merge gives back what it was given in the order of the starts, each
// session's own order kept, and holds no more than it must.
func TestMergeIsBounded(t *testing.T) {
	m := &merge{}
	s := &session{}
	for i := range 3 * maxMerged {
		m.add(s, moment{start: int64(i)}, []byte{1}, 0)
		if i%1000 == 0 {
			if err := m.pass(math.MinInt64, func(*held, []byte) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if len(m.held) > maxMerged+1000 {
			t.Fatalf("%d records are held", len(m.held))
		}
	}
}
