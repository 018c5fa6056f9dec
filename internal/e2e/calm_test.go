package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/internal/program"
	"github.com/retrace-db/retrace/internal/sim"
)

// trial compares figures with the truth. Where they are off as a busy machine
// may make them it only takes note; what no machine can be the reason of is an
// error at once.
type trial struct {
	*testing.T
	off []string
}

func (t *trial) noteOff(format string, args ...any) {
	t.off = append(t.off, fmt.Sprintf(format, args...))
}

// calmly makes a trial again, twice at most, when figures are off: what the
// machine did once it does not do each time, what the program does it does.
func calmly(t *testing.T, try func(*trial)) {
	t.Helper()
	for range 3 {
		one := &trial{T: t}
		try(one)
		if len(one.off) == 0 || t.Failed() {
			return
		}
		t.Logf("off:\n%s", strings.Join(one.off, "\n"))
	}
	t.Error("off in each of three trials")
}

// restless is how late, in µs, a server's own answers are on a machine too busy
// to say anything about tails.
const restless = 1000

// recovers compares percentiles with what left the server's socket: 5 %, and
// what this machine may have added on the way, for which the server's own
// lateness stands, at a higher percentile. Nothing can have been faster. A
// percentile with fewer than 10 of n statements beyond it says nothing.
func (t *trial) recovers(what string, n uint64, got *program.Quantiles, want, late *sim.Spread) {
	t.Helper()
	if got == nil || want == nil {
		t.Errorf("%s: no times: %v, %v", what, got, want)
		return
	}
	for _, q := range []struct {
		name            string
		beyond          float64
		got, want, late float64
	}{
		{"p50", 0.5, got.P50, want.P50, late.P95},
		{"p95", 0.05, got.P95, want.P95, late.P99},
		{"p99", 0.01, got.P99, want.P99, late.P999},
		{"p99.9", 0.001, got.P999, want.P999, late.Max},
		{"mean", 1, got.Mean, want.Mean, 3 * late.Mean},
	} {
		t.Logf("%-20s %-6s %8.0f µs of %8.0f (%+.1f %%)", what, q.name, q.got, q.want, 100*(q.got/q.want-1))
		tail := q.name == "p99" || q.name == "p99.9"
		switch {
		case q.beyond*float64(n) < 10:
		case q.got < 0.98*q.want:
			t.Errorf("%s: %s is %.0f µs, in truth %.0f", what, q.name, q.got, q.want)
		case tail && late.P999 > restless:
		case q.got > 1.05*q.want+q.late:
			t.noteOff("%s: %s is %.0f µs, in truth %.0f (the server was late by %.0f)", what, q.name, q.got, q.want, q.late)
		}
	}
}

// near compares a figure that the machine has a part in.
func (t *trial) near(what string, got, want, within float64) {
	if math.Abs(got-want) > within*want {
		t.noteOff("%s is %.0f, want %.0f ± %.0f %%", what, got, want, within*100)
	}
}
