package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

// retrace is the program under test, built once for all tests here.
var retrace *program.Program

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "retrace-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	retrace, err = program.Build(context.Background(), filepath.Join("..", ".."), dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// capture records until the test ends or stops it.
func capture(t *testing.T, target, trace string, args ...string) *program.Capture {
	t.Helper()
	c, err := retrace.Capture(t.Context(), target, trace, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return c
}

// stop ends a recording and expects it to have gone well and lost nothing.
func stop(t *testing.T, c *program.Capture) program.Captured {
	t.Helper()
	r := c.Stop()
	var report program.Captured
	want(t, r, 0)
	if err := r.JSON(&report); err != nil {
		t.Fatal(err)
	}
	if len(report.Gaps) > 0 || !report.Complete {
		t.Errorf("the recording has gaps: %+v", report)
	}
	return report
}

// run runs a verb and expects an exit code.
func run(t *testing.T, code int, args ...string) program.Result {
	t.Helper()
	r := retrace.Run(t.Context(), args...)
	want(t, r, code)
	return r
}

// read runs a verb that prints JSON into v.
func read(t *testing.T, v any, code int, args ...string) program.Result {
	t.Helper()
	r := run(t, code, append(args, "-o", "json")...)
	if err := r.JSON(v); err != nil {
		t.Fatal(err)
	}
	return r
}

func want(t *testing.T, r program.Result, code int) {
	t.Helper()
	if r.Code != code {
		t.Fatalf("want exit %d: %s", code, r)
	}
}

// replay runs a replay that is to go well: every statement sent and answered,
// and the sums right.
func replay(t *testing.T, trace, target, run string, args ...string) program.Replayed {
	t.Helper()
	var r program.Replayed
	all := append([]string{"replay", trace, "--target", target, "-w", run}, args...)
	read(t, &r, 0, all...)
	sums(t, r)
	return r
}

func sums(t *testing.T, r program.Replayed) {
	t.Helper()
	if s := r.Statements; s.Captured != s.Sum() {
		t.Errorf("captured %d, but the classes sum to %d: %+v", s.Captured, s.Sum(), s)
	}
}

// bank is a server with pgbench's tables at scale 1.
func bank(t *testing.T, settings ...string) *dbtest.Server {
	t.Helper()
	s := dbtest.Postgres15(t, settings...)
	s.Pgbench(t, "-i", "-q", "-s", "1")
	return s
}

// pgbench runs pgbench through an address and expects it to go well.
func pgbench(t *testing.T, addr string, args ...string) dbtest.Bench {
	t.Helper()
	b, err := dbtest.RunPgbench(t.Context(), addr, args...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func short(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}
