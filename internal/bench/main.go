// Command bench prints the rows of the budget beside their rivals. Absolute
// figures wander by a third on shared machines, so every row is a ratio taken
// in one interleaved run: each round measures every path once, and what is
// printed is the median of the rounds' ratios, with the lowest and highest.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{}
	path := flag.String("retrace", "bin/retrace", "the program to measure")
	only := flag.String("only", "capture,memory,read,replay,pace,verdicts,truth,sessions", "which groups of rows")
	soak := flag.Duration("soak", 0, "instead, record 32 clients for so long and watch memory")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds")
	flag.DurationVar(&b.each, "duration", 5*time.Second, "how long each measurement takes")
	flag.IntVar(&b.scale, "scale", 20, "pgbench's scale")
	flag.IntVar(&b.seeds, "seeds", 200, "seeds of the calibration of verdicts")
	flag.Parse()
	b.retrace = &program.Program{Path: *path}
	if *soak > 0 {
		*only, b.each = "soak", *soak
	}
	err := b.run(ctx, strings.Split(*only, ","))
	b.close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	retrace *program.Program
	rounds  int
	each    time.Duration
	scale   int
	seeds   int

	dir     string
	server  *dbtest.Server
	proxies map[string]*dbtest.Proxy
	running []func() error
}

var groups = map[string]func(*bench, context.Context) error{
	"capture": (*bench).captureRows,
	"memory":  (*bench).memoryRows,
	"read":    (*bench).readRows,
	"replay":  (*bench).replayRows,
	"pace":    (*bench).paceRows,
	"soak":    (*bench).soak,

	"verdicts": (*bench).verdictRows,
	"truth":    (*bench).truthRows,
	"sessions": (*bench).sessionRows,
}

// serverless groups need nothing but this machine.
var serverless = []string{"verdicts", "truth", "sessions"}

func (b *bench) run(ctx context.Context, only []string) error {
	if slices.ContainsFunc(only, func(name string) bool { return !slices.Contains(serverless, name) }) {
		if err := b.start(ctx); err != nil {
			return err
		}
		b.title()
	}
	for _, name := range only {
		group, ok := groups[name]
		if !ok {
			return fmt.Errorf("no group of rows %q", name)
		}
		if err := group(b, ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) title() {
	fmt.Printf("%d rounds of %s, PostgreSQL %d, pgbench scale %d, %d cores, %s\n\n",
		b.rounds, b.each, b.server.Major, b.scale, runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly))
}

// start brings up the server and the rivals in front of it.
func (b *bench) start(ctx context.Context) error {
	var err error
	if b.dir, err = os.MkdirTemp("", "retrace-bench-"); err != nil {
		return err
	}
	b.running = append(b.running, func() error { return os.RemoveAll(b.dir) })
	settings := []string{"max_connections=1200", "shared_buffers=1GB"}
	if b.server, err = dbtest.Start(ctx, "", dbtest.Options{Settings: settings}); err != nil {
		return err
	}
	b.running = append(b.running, b.server.Close)
	if _, err := dbtest.RunPgbench(ctx, b.server.Addr, "-i", "-q", "-s", fmt.Sprint(b.scale)); err != nil {
		return err
	}
	b.proxies = map[string]*dbtest.Proxy{}
	for name, start := range map[string]func(context.Context, string) (*dbtest.Proxy, error){
		haproxy: dbtest.StartHAProxy, pgbouncer: dbtest.StartPgBouncer,
	} {
		p, err := start(ctx, b.server.Addr)
		if err != nil {
			return err
		}
		b.proxies[name] = p
		b.running = append(b.running, p.Close)
	}
	return nil
}

func (b *bench) close() {
	for i := len(b.running) - 1; i >= 0; i-- {
		if err := b.running[i](); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
}
