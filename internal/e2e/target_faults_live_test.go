package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/program"
	"github.com/retrace-db/retrace/internal/sim"
	"github.com/retrace-db/retrace/internal/truth"
)

// RP-05: a target that is too slow for the schedule. Sessions fall behind, each
// with one request in flight; that is said, and the waiting is in the response
// times.
func TestATargetThatIsTooSlow(t *testing.T) { calmly(t, targetIsTooSlow) }

func targetIsTooSlow(t *trial) {
	b := bed(t.T)
	trace, run := b.Path("t.trace"), b.Path("r.run")
	fast := truth.Workload{{Name: "account", SQL: "update account set balance = balance + 1 where id = :k", Latency: "1ms"}}
	if _, err := b.Record(t.Context(), trace, simOptions(t.T, fast, 1), b.Pgbench(t.Context(), fast, 500, 6*time.Second)); err != nil {
		t.Fatal(err)
	}
	r, did, err := b.Replay(t.Context(), trace, run, simOptions(t.T, fast.With("account", "32ms"), 2))
	if err != nil {
		t.Fatal(err)
	}
	want(t.T, r, 0)
	var said program.Replayed
	if err := r.JSON(&said); err != nil {
		t.Fatal(err)
	}
	sums(t.T, said)
	n := int64(did.Statements.OK)
	if said.Statements.OK != n || said.Statements.Captured != n || n < 2000 {
		t.Errorf("replayed %+v, in truth %d", said.Statements, n)
	}
	// Some 3000 statements on 8 sessions, 32 ms each, take 12 s where 6 s were planned.
	least := float64(n) / 8 * 0.032
	if said.KeptUp || !strings.Contains(strings.Join(said.Why, " "), "did not keep up") {
		t.Errorf("kept up %v: %v", said.KeptUp, said.Why)
	}
	if said.Lag == nil || said.Lag.Max < (least-6)*0.8e6 || said.ElapsedS < 0.9*least {
		t.Errorf("lag %+v after %.1f s, want about %.1f s of it", said.Lag, said.ElapsedS, least-6)
	}
	if !strings.Contains(r.Err, "lagging up to") {
		t.Errorf("nothing is said on the way:\n%s", r.Err)
	}
	if r.RSS > 256<<20 { // a child's peak includes that of the test it was forked from
		t.Errorf("took %d MiB", r.RSS>>20)
	}
	report, err := b.Analyze(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	side := report.Total.Runs[0]
	if side.Response == nil || side.Response.Max < (least-6)*0.8e6 {
		t.Errorf("the lag of %.0f µs is not in the response times: %+v", said.Lag.Max, side.Response)
	}
	t.recovers("service", did.Statements.OK, side.Service, did.ActualUS, did.LateUS)
}

// recordSmall records 8 sessions of a few seconds.
func recordSmall(t *testing.T, b *truth.Bed) (path string, w truth.Workload) {
	t.Helper()
	path, w = b.Path("t.trace"), truth.Narrow
	if _, err := b.Record(t.Context(), path, simOptions(t, w, 1), b.Pgbench(t.Context(), w, 100, 3*time.Second)); err != nil {
		t.Fatal(err)
	}
	return path, w
}

// RP-13: connections that break in the middle of answers. What the server
// answered is counted as answered, and every statement has an outcome.
func TestConnectionsThatBreakInTheMiddleOfAnswers(t *testing.T) {
	b := bed(t)
	path, w := recordSmall(t, b)
	o := simOptions(t, w, 2)
	o.Drop = 0.01
	r, did, err := b.Replay(t.Context(), path, b.Path("r.run"), o)
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, 3)
	var said program.Replayed
	if err := r.JSON(&said); err != nil {
		t.Fatal(err)
	}
	sums(t, said)
	if did.Statements.Unanswered == 0 || said.Statements.OK != int64(did.Statements.OK) || said.Statements.Lost < int64(did.Statements.Unanswered) {
		t.Errorf("%+v %v, in truth %+v", said.Statements, said.Reasons, did.Statements)
	}
}

// RP-13: a server that takes fewer connections than the trace has sessions. It
// is found out beforehand where the trace can be read twice; where it cannot,
// the sessions that get in are replayed and the others counted.
func TestLoginsThatAreRefused(t *testing.T) {
	b := bed(t)
	path, w := recordSmall(t, b)
	o := simOptions(t, w, 2)
	o.MaxConnections = 4
	r, _, err := b.Replay(t.Context(), path, b.Path("r.run"), o)
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, 1)
	if !strings.Contains(r.Err, "max_connections") {
		t.Error(r)
	}

	server, err := truth.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := retrace.Command("replay", "-", "--target", server.URL(), "-o", "json", "-q")
	cmd.Stdin = in
	out, err := cmd.Output()
	did, ended := server.Stop()
	if ended != nil {
		t.Fatal(ended)
	}
	if cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	var said program.Replayed
	if err := (program.Result{Out: string(out)}).JSON(&said); err != nil {
		t.Fatal(err)
	}
	sums(t, said)
	if said.Statements.OK != int64(did.Statements.OK) || said.Statements.OK == 0 || said.Statements.OK == said.Statements.Captured || did.Refused == 0 {
		t.Errorf("%+v %v, in truth %+v, %d refused", said.Statements, said.Reasons, did.Statements, did.Refused)
	}
}

// RP-13: a server that goes away for good. The replay ends by itself, and the
// next one works.
func TestAServerThatVanishes(t *testing.T) {
	b := bed(t)
	path, w := recordSmall(t, b)
	server, err := truth.Start(simOptions(t, w, 2))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan sim.Truth, 1)
	go func() {
		for server.Truth().Statements.Answered < 100 {
			time.Sleep(10 * time.Millisecond)
		}
		did, _ := server.Stop()
		gone <- did
	}()
	var said program.Replayed
	r := read(t, &said, 3, "replay", path, "--target", server.URL(), "-w", b.Path("r.run"))
	did := <-gone
	sums(t, said)
	if said.Statements.OK != int64(did.Statements.OK) || said.Statements.Lost == 0 || r.Took > 30*time.Second {
		t.Errorf("after %s: %+v %v, in truth %+v", r.Took, said.Statements, said.Reasons, did.Statements)
	}
	again, did, err := b.Replay(t.Context(), path, b.Path("r.run"), simOptions(t, w, 3))
	if err != nil {
		t.Fatal(err)
	}
	want(t, again, 0)
	if int64(did.Statements.OK) != said.Statements.Captured {
		t.Errorf("then %d of %d", did.Statements.OK, said.Statements.Captured)
	}
}
