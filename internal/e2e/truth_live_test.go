package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/program"
	"github.com/retrace-db/retrace/internal/sim"
	"github.com/retrace-db/retrace/internal/truth"
)

func bed(t *testing.T) *truth.Bed {
	t.Helper()
	return &truth.Bed{Program: retrace, Dir: t.TempDir()}
}

func simOptions(t *testing.T, w truth.Workload, seed uint64, faults ...string) sim.Options {
	t.Helper()
	o, err := w.Options(seed, faults...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Invariant 5: on targets of known latency the report recovers every
// percentile, and every error.
func TestTheReportRecoversTheTruth(t *testing.T) { calmly(t, recoversTheTruth) }

func recoversTheTruth(t *trial) {
	b := bed(t.T)
	trace, run, closed := b.Path("t.trace"), b.Path("r.run"), b.Path("c.run")
	recorded, err := b.Record(t.Context(), trace, simOptions(t.T, truth.Mixed, 1), b.Pgbench(t.Context(), truth.Mixed, 60, time.Duration(short(15, 6))*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	o := simOptions(t.T, truth.Mixed, 2, "text:product:40001:5%", "text:product:23514:1%", "text:visitor:40P01:2%")
	r, replayed, err := b.Replay(t.Context(), trace, run, o, "--max-diverged", "100%")
	if err != nil {
		t.Fatal(err)
	}
	want(t.T, r, 0)
	r, _, err = b.Replay(t.Context(), trace, closed, simOptions(t.T, truth.Mixed, 3), "--pace", "closed")
	if err != nil {
		t.Fatal(err)
	}
	want(t.T, r, 0)

	report, err := b.Analyze(t.Context(), trace, run, closed)
	if err != nil {
		t.Fatal(err)
	}
	for i, did := range []sim.Truth{recorded, replayed} {
		if did.LateUS == nil {
			t.Fatalf("the server did nothing: %+v", did)
		}
		name := []string{"captured", "replayed"}[i]
		t.Logf("%s: %d statements, the server late by p50 %.0f, p99 %.0f µs", name, did.Statements.Answered, did.LateUS.P50, did.LateUS.P99)
		all := report.Total.Runs[i]
		counted(t.T, name, all, did.Statements.Answered, did.Errors)
		t.recovers(name, did.Statements.Answered, all.Service, did.ActualUS, did.LateUS)
		for _, s := range truth.Mixed {
			runs, _ := s.In(report)
			side, rule := runs[i], s.Of(did)
			counted(t.T, name+" "+s.Name, side, rule.OK+rule.Error, nil)
			t.recovers(name+" "+s.Name, rule.OK+rule.Error, side.Service, rule.ActualUS, did.LateUS)
		}
	}
	if len(replayed.Errors) != 3 || len(recorded.Errors) != 0 {
		t.Errorf("the servers failed otherwise than they were told: %v, %v", recorded.Errors, replayed.Errors)
	}
	// Where there is no schedule there is no response time: it would hide what
	// waiting there would have been.
	if report.Total.Runs[1].Response == nil || report.Total.Runs[2].Response != nil || report.Total.Runs[2].Service == nil {
		t.Errorf("response times: %+v, closed %+v", report.Total.Runs[1].Response, report.Total.Runs[2].Response)
	}
}

// counted compares counts exactly, and those of errors unless nil.
func counted(t *testing.T, what string, got program.Side, n uint64, errors map[string]uint64) {
	t.Helper()
	if uint64(got.Count) != n {
		t.Errorf("%s: %d statements, in truth %d", what, got.Count, n)
	}
	if errors == nil {
		return
	}
	for code, n := range errors {
		if uint64(got.Errors[code]) != n {
			t.Errorf("%s: %d errors %s, in truth %d", what, got.Errors[code], code, n)
		}
	}
	if len(got.Errors) != len(errors) {
		t.Errorf("%s: errors %v, in truth %v", what, got.Errors, errors)
	}
}

// RP-01: one session, a statement each 10 ms that takes 1 ms, and a freeze of
// 2 s. It is recorded four times as fast.
func TestAFreezeByItsArithmetic(t *testing.T) { calmly(t, freezeByItsArithmetic) }

func freezeByItsArithmetic(t *trial) {
	b := bed(t.T)
	trace, run := b.Path("t.trace"), b.Path("r.run")
	var calm sim.Latency
	if err := calm.UnmarshalText([]byte("1ms")); err != nil {
		t.Fatal(err)
	}
	o := sim.Options{Latency: []sim.Latency{calm}, Rows: 1, Seed: 1}
	if _, err := b.Record(t.Context(), trace, o, func(addr string) error { return evenly(t.T, addr, 2000, 2500*time.Microsecond) }); err != nil {
		t.Fatal(err)
	}
	o.Freeze = sim.Freeze{For: 2 * time.Second, At: 8 * time.Second}
	r, did, err := b.Replay(t.Context(), trace, run, o, "--speed", "0.25")
	if err != nil {
		t.Fatal(err)
	}
	want(t.T, r, 0)
	report, err := b.Analyze(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	side := report.Total.Runs[0]
	if side.Count != 2000 || side.Response == nil || side.Service == nil {
		t.Fatalf("%+v", side)
	}
	t.Logf("response p95 %.0f, p99 %.0f, p99.9 %.0f µs; service p99.9 %.0f, max %.0f µs; the server late by p99 %.0f µs",
		side.Response.P95, side.Response.P99, side.Response.P999, side.Service.P999, side.Service.Max, did.LateUS.P99)
	served := (side.Service.Mean - 1000) / 1e6 // s each, without the 2 s that one of 2000 was frozen
	p95, p99, p999 := waited(served, 0.95), waited(served, 0.99), waited(served, 0.999)
	if served < 1.3e-3 { // a calm machine: the figures of the case itself
		p95, p99, p999 = 1.1e6, 1.8e6, 2e6
	}
	t.near("response p95", side.Response.P95, p95, 0.10)
	t.near("response p99", side.Response.P99, p99, 0.10)
	t.near("response p99.9", side.Response.P999, p999, 0.10)
	t.near("service max", side.Service.Max, 2.0e6, 0.10)
	t.recovers("service", 2000, side.Service, did.ActualUS, did.LateUS)
}

// waited is what response time a share of 2000 statements, due each 10 ms,
// stays below if the server freezes for 2 s once and needs served seconds for
// each: the wait falls evenly from 2 s until the schedule has been caught up.
func waited(served, share float64) (us float64) {
	delayed := 2 / (0.01 - served)
	return 2e6 * max(0, 1-2000*(1-share)/delayed)
}

// evenly runs n statements, one each so often.
func evenly(t *testing.T, addr string, n int, each time.Duration) error {
	conn, err := pgx.Connect(t.Context(), "postgres://postgres@"+addr+"/postgres")
	if err != nil {
		return err
	}
	begun := time.Now()
	for i := range n {
		time.Sleep(time.Until(begun.Add(time.Duration(i) * each)))
		if _, err := conn.Exec(t.Context(), "update clock set ticks = ticks + 1 where id = $1", 1); err != nil {
			return err
		}
	}
	return conn.Close(t.Context())
}

// Invariant 5: runs on servers that are alike look alike, and a fifth more of
// one statement is seen.
func TestChangesAreSeenAndNotImagined(t *testing.T) { calmly(t, changesAreSeen) }

func changesAreSeen(t *trial) {
	b := bed(t.T)
	changes, err := b.Trials(t.Context(), short(2, 1), 80, time.Duration(short(8, 4))*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	shifted := 0
	for _, c := range changes {
		t.Logf("%-8s median %+5.1f %% (in truth %+5.1f), mean %+5.1f %% (in truth %+5.1f), %s", c.Statement, c.SaidMedian, c.TrueMedian, c.SaidMean, c.TrueMean, c.Verdict)
		least, most := -5.0, 5.0
		if c.Shifted {
			least, most = 15, 25
			shifted++
		}
		calm := c.LateUS < 1000
		if off := c.SaidMedian - c.TrueMedian; off < -5 || off > 5 {
			t.noteOff("%s: the median changed by %+.1f %%, it says %+.1f", c.Statement, c.TrueMedian, c.SaidMedian)
		} else if calm && (c.SaidMedian < least || c.SaidMedian > most) {
			t.noteOff("%s: it says that the median changed by %+.1f %%, want %g…%g", c.Statement, c.SaidMedian, least, most)
		}
		if c.Verdict == "improved" && c.TrueMedian > 0 && c.TrueMean > 0 || c.Verdict == "degraded" && c.TrueMedian < 0 && c.TrueMean < 0 || c.Verdict == "" {
			t.noteOff("%s: the median changed by %+.1f %%, the mean by %+.1f %%, the verdict is %q", c.Statement, c.TrueMedian, c.TrueMean, c.Verdict)
		}
	}
	if shifted == 0 || !slices.ContainsFunc(changes, func(c truth.Change) bool { return !c.Shifted }) {
		t.Errorf("%d changes, %d of them meant", len(changes), shifted)
	}
}
