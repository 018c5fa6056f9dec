package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

func TestTwiceTheSpeedTakesHalfTheTime(t *testing.T) {
	s := bank(t)
	target := s.Clone(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "t.trace")
	seconds := short(30, 6)
	c := capture(t, s.URL("", ""), path)
	pgbench(t, c.Addr, "-n", "-S", "-M", "prepared", "-c", "4", "-R", "200", "-T", fmt.Sprint(seconds))
	stop(t, c)
	var info program.Info
	read(t, &info, 0, "trace", "info", path)

	begun := time.Now()
	r := replay(t, path, target.URL("", ""), filepath.Join(dir, "run.trace"), "--speed", "2")
	wall := time.Since(begun).Seconds()
	half := info.SpanS / 2
	if math.Abs(r.ElapsedS-half) > 0.01*half {
		t.Errorf("a trace of %.3f s took %.3f s at --speed 2", info.SpanS, r.ElapsedS)
	}
	if wall > half+3 || info.SpanS < float64(seconds)*0.95 {
		t.Errorf("took %.1f s in all for a trace of %.1f s", wall, info.SpanS)
	}
	if r.Pace != "original" || r.Speed != 2 || r.Statements.OK != info.Statements || r.Diverged != 0 {
		t.Errorf("%+v", r)
	}
	if !r.Valid || !r.KeptUp { // the machine's fault, not the program's
		t.Logf("valid %v, kept up %v: %v", r.Valid, r.KeptUp, r.Why)
	}
}

// steady records rate statements a second, evenly, on one session.
func steady(t *testing.T, s *dbtest.Server, path string, rate, seconds int) {
	t.Helper()
	c := capture(t, s.URL("", ""), path)
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for i := range rate * seconds {
		time.Sleep(time.Until(begun.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		var balance int
		if err := conn.QueryRow(t.Context(), "select abalance from pgbench_accounts where aid = $1", i+1).Scan(&balance); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop(t, c)
}

// A target that stands still for 2 s makes the statements due meanwhile wait
// for what is left of it. Response time must show that, from the schedule and
// not from when we got to send; service time must not.
func TestResponseTimeShowsAFreeze(t *testing.T) { calmly(t, responseTimeShowsAFreeze) }

func responseTimeShowsAFreeze(t *trial) {
	s := bank(t.T)
	target := s.Clone(t)
	dir := t.TempDir()
	path, run := filepath.Join(dir, "t.trace"), filepath.Join(dir, "run.trace")
	const rate, seconds, frozen = 100, 20, 2 * time.Second
	steady(t.T, s, path, rate, seconds)

	calm := filepath.Join(dir, "calm.trace")
	replay(t.T, path, target.URL("", ""), calm, "--speed", "4")

	go func() {
		time.Sleep(8 * time.Second)
		target.Freeze()
		time.Sleep(frozen)
		target.Thaw()
	}()
	replay(t.T, path, target.URL("", ""), run)

	var report program.Analyzed
	read(t.T, &report, 0, "analyze", "calm="+calm, "frozen="+run)
	before, after := report.Total.Runs[0], report.Total.Runs[1]
	if after.Count < rate*seconds || after.Response == nil || before.Service == nil {
		t.Fatalf("no figures: %+v", report.Total)
	}
	// What a perfect observer computes from the recorded due times.
	p95, p99 := waits(events(t.T, run), frozen)
	t.near("response p95", after.Response.P95, p95, 0.10)
	t.near("response p99", after.Response.P99, p99, 0.10)
	if p95 < 0.9e6 || p95 > 1.25e6 || p99 < 1.6e6 || p99 > 2e6 {
		t.noteOff("the freeze itself was off: p95 %.0f µs, p99 %.0f µs", p95, p99)
	}
	if after.Service.P50 > 2*before.Service.P50+200 {
		t.noteOff("service p50 moved from %.0f to %.0f µs", before.Service.P50, after.Service.P50)
	}
	if after.Service.P99 > 0.1e6 {
		t.Errorf("service p99 is %.0f µs: one statement alone should have waited", after.Service.P99)
	}
}

// RP-22: a replay that was stopped for a while says so, and when, and does not
// count as valid.
func TestAStoppedReplaySaysSo(t *testing.T) {
	s := bank(t)
	target := s.Clone(t)
	path := filepath.Join(t.TempDir(), "t.trace")
	steady(t, s, path, 100, 5)
	var out bytes.Buffer
	replaying := retrace.Command("replay", path, "--target", target.URL("", ""), "-o", "json", "-q")
	replaying.Stdout = &out
	if err := replaying.Start(); err != nil {
		t.Fatal(err)
	}
	const at, stopped = 2 * time.Second, 1500 * time.Millisecond
	time.Sleep(at)
	if err := replaying.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(stopped)
	if err := replaying.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := replaying.Wait(); err != nil {
		t.Error(err)
	}
	var r program.Replayed
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	sums(t, r)
	if len(r.Stalls) == 0 || r.Valid {
		t.Fatalf("valid %v, stalls %v", r.Valid, r.Stalls)
	}
	longest := slices.MaxFunc(r.Stalls, func(a, b program.Stall) int { return cmp.Compare(a.S, b.S) })
	if longest.S < stopped.Seconds()*0.9 || longest.AtS > at.Seconds()+1 {
		t.Errorf("stalls %v", r.Stalls)
	}
}

// waits is what statements should have waited for, in µs: the longest one
// ended at the thaw, and whoever was due within the freeze before it waited
// from then.
func waits(all []event, frozen time.Duration) (p95, p99 float64) {
	var thaw, longest int64
	var due []int64
	for _, e := range all {
		if !e.op.Statement() {
			continue
		}
		due = append(due, e.due)
		if e.took > longest {
			longest, thaw = e.took, e.end
		}
	}
	var wait []float64
	for _, d := range due {
		w := thaw - d
		if w < 0 || w > frozen.Nanoseconds() {
			w = 0
		}
		wait = append(wait, float64(w)/1e3)
	}
	slices.Sort(wait)
	at := func(q float64) float64 { return wait[int(q*float64(len(wait)-1))] }
	return at(0.95), at(0.99)
}
