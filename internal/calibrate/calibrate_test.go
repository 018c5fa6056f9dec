package calibrate

import (
	"testing"
	"time"

	"github.com/retrace-db/retrace/analyze"
)

// The full calibration is `bench -only verdicts`; this is a few seeds of it.
func TestVerdictsAreCalibrated(t *testing.T) {
	w := Workload{Fingerprints: 40, Executions: 1000, Span: 300 * time.Second, Along: Sessions}
	for _, paired := range []bool{true, false} {
		s := Calibrate(w, 5, paired)
		if wrong, same := s.Wrong(), s.Share(analyze.Same); wrong > 0.05 || same < 0.9 {
			t.Errorf("paired %v: of fingerprints that are the same %.1f%% are improved or degraded, %.1f%% same", paired, 100*wrong, 100*same)
		}
		if s.ShiftFound < s.Seeds-1 {
			t.Errorf("paired %v: +20%% was found by %d of %d", paired, s.ShiftFound, s.Seeds)
		}
		if s.Totals[analyze.Same] < s.Seeds-1 || s.Others > 2*s.Seeds {
			t.Errorf("paired %v: totals %v, %d others changed", paired, s.Totals, s.Others)
		}
	}
}

func TestTailIsFoundAndIsNoShift(t *testing.T) {
	w := Workload{Fingerprints: 4, Executions: 10_000, Span: 300 * time.Second, Along: Fingerprints}
	s := Calibrate(w, 6, true)
	if s.TailFound < s.Seeds-1 || s.TailMoved > 1 {
		t.Errorf("of %d tails %d were found at p99, %d taken for a shift", s.Seeds, s.TailFound, s.TailMoved)
	}
	if s.ShiftFound < s.Seeds-1 || s.Wrong() > 0.1 {
		t.Errorf("of %d shifts %d were found; %v", s.Seeds, s.ShiftFound, s.Verdicts)
	}
}

// A run is reproducible, and has the statements of any other.
func TestRunsShareTheirStatements(t *testing.T) {
	w := Workload{Fingerprints: 3, Executions: 50, Span: 60 * time.Second}
	type name struct{ session, ordinal uint64 }
	sql, tooks := map[name]string{}, map[name]int64{}
	for e := range w.Run(1, false) {
		sql[name{e.Session, e.Ordinal}], tooks[name{e.Session, e.Ordinal}] = e.Entry.Text, e.Took
	}
	if len(sql) != 150 {
		t.Fatalf("%d statements", len(sql))
	}
	differ := 0
	for e := range w.Run(2, true) {
		n := name{e.Session, e.Ordinal}
		if sql[n] != e.Entry.Text {
			t.Fatalf("%v is %q and %q", n, sql[n], e.Entry.Text)
		}
		differ += count(tooks[n] != e.Took)
	}
	for e := range w.Run(1, false) {
		if tooks[name{e.Session, e.Ordinal}] != e.Took {
			t.Fatal("the same seed, another latency")
		}
	}
	if differ < 100 {
		t.Errorf("%d latencies differ between seeds", differ)
	}
}
