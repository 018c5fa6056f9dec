package dbtest

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
)

// Bench is what pgbench reported at the end.
type Bench struct {
	Transactions int64
	Failed       int64
	LatencyMS    float64 // mean per transaction
	TPS          float64 // without connecting
	Output       string
}

// Pgbench runs pgbench directly against the server.
func (s *Server) Pgbench(t testing.TB, args ...string) Bench {
	t.Helper()
	b, err := RunPgbench(t.Context(), s.Addr, args...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// RunPgbench runs pgbench against host:port, such as a proxy's; args end
// before the database name, which is postgres.
func RunPgbench(ctx context.Context, addr string, args ...string) (Bench, error) {
	args = append(append([]string{}, args...), "postgres://"+User+"@"+addr+"/"+User)
	cmd := Client(ctx, "pgbench", args...)
	out, err := cmd.CombinedOutput()
	b := ReadBench(string(out))
	if err != nil {
		return b, fmt.Errorf("pgbench %v: %w\n%s", args, err, lastLines(string(out), 20))
	}
	return b, nil
}

var (
	benchDone    = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d+)`)
	benchFailed  = regexp.MustCompile(`(?m)^number of failed transactions: (\d+)`)
	benchLatency = regexp.MustCompile(`(?m)^latency average = ([0-9.]+) ms`)
	benchTPS     = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without`)
)

// ReadBench reads pgbench's final report.
func ReadBench(out string) Bench {
	return Bench{
		Transactions: int64(number(benchDone, out)),
		Failed:       int64(number(benchFailed, out)),
		LatencyMS:    number(benchLatency, out),
		TPS:          number(benchTPS, out),
		Output:       out,
	}
}

func number(what *regexp.Regexp, in string) float64 {
	m := what.FindStringSubmatch(in)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	return n
}
