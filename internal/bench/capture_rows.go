package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

const (
	direct    = "direct"
	haproxy   = "haproxy"
	pgbouncer = "pgbouncer"
	retrace   = "retrace"
)

var paths = []string{direct, haproxy, pgbouncer, retrace}

// load is one way to drive the server.
type load struct {
	mode    string
	clients int
	script  string
}

func (l load) String() string { return fmt.Sprintf("%s %s -c %d", l.script, l.mode, l.clients) }

func (l load) args(d time.Duration) []string {
	return []string{
		"-n", "-b", l.script, "-M", l.mode, "-c", fmt.Sprint(l.clients), "-j", fmt.Sprint(min(l.clients, 2)),
		"-T", fmt.Sprint(max(1, int(d.Seconds()))),
	}
}

// figures are what the rounds gave for one load and one path.
type figures struct {
	latency series // µs per transaction
	tps     series
	cpu     series // µs of the proxy per transaction
	rss     series // bytes, the peak
	size    series // bytes per statement
	lost    int64
}

var loads = []load{
	{"prepared", 1, "select-only"},
	{"prepared", 8, "select-only"},
	{"prepared", 32, "select-only"},
	{"simple", 8, "select-only"},
	{"simple", 32, "select-only"},
	{"prepared", 8, "tpcb-like"},
}

func (b *bench) captureRows(ctx context.Context) error {
	got := map[load]map[string]*figures{}
	for round := range b.rounds {
		for _, l := range loads {
			if got[l] == nil {
				got[l] = map[string]*figures{}
			}
			for i := range paths { // each round begins with another path
				path := paths[(i+round)%len(paths)]
				if got[l][path] == nil {
					got[l][path] = &figures{}
				}
				if err := b.measure(ctx, l, path, got[l][path]); err != nil {
					return fmt.Errorf("%s, %s: %w", l, path, err)
				}
			}
		}
		progress("capture: round %d of %d", round+1, b.rounds)
	}
	printCapture(got)
	return nil
}

// measure runs one load over one path.
func (b *bench) measure(ctx context.Context, l load, path string, into *figures) error {
	addr, pid := b.server.Addr, 0
	if p, ok := b.proxies[path]; ok {
		addr, pid = p.Addr, p.Pid
	}
	var c *program.Capture
	if path == retrace {
		file := filepath.Join(b.dir, "bench.trace")
		defer os.Remove(file)
		var err error
		if c, err = b.retrace.Capture(ctx, b.server.URL("", ""), file); err != nil {
			return err
		}
		defer c.Kill()
		addr, pid = c.Addr, c.Pid
	}
	before := dbtest.CPU(pid)
	done, err := dbtest.RunPgbench(ctx, addr, l.args(b.each)...)
	if err != nil {
		return err
	}
	used := dbtest.CPU(pid) - before
	into.tps = append(into.tps, done.TPS)
	into.latency = append(into.latency, 1e6*float64(l.clients)/done.TPS)
	if pid != 0 {
		into.cpu = append(into.cpu, float64(used.Microseconds())/float64(done.Transactions))
	}
	if c != nil {
		return recorded(c, into)
	}
	return nil
}

// recorded adds what only a recorder has.
func recorded(c *program.Capture, into *figures) error {
	into.rss = append(into.rss, float64(dbtest.PeakRSS(c.Pid)))
	var report program.Captured
	r := c.Stop()
	if err := r.JSON(&report); err != nil {
		return err
	}
	into.size = append(into.size, float64(report.Bytes)/float64(report.Statements))
	into.lost += report.Missing
	return nil
}

func progress(format string, a ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", a...) }
