package main

import (
	"context"
	"fmt"
	"os"

	"github.com/retrace-db/retrace/internal/program"
	"github.com/retrace-db/retrace/internal/sim"
	"github.com/retrace-db/retrace/internal/truth"
)

// sessionRows measure what a session costs a replay, against a simulated
// target: from the memory of a replay of few and one of many.
func (b *bench) sessionRows(ctx context.Context) error {
	const few, many, statements = 1000, 10_000, 5
	dir, err := os.MkdirTemp("", "retrace-sessions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bed := truth.Bed{Program: b.retrace, Dir: dir}
	var each, cpu series
	for range min(b.rounds, 3) {
		var rss [2]int64
		for i, n := range []int{few, many} {
			path := bed.Path("crowd.trace")
			if err := truth.Crowd(path, n, statements); err != nil {
				return err
			}
			r, did, err := bed.Replay(ctx, path, bed.Path("crowd.run"), sim.Options{Rows: 1})
			if err != nil {
				return err
			}
			var said program.Replayed
			if err := r.JSON(&said); err != nil {
				return err
			}
			if r.Code != 0 || said.Statements.OK != int64(n*statements) || did.Statements.OK != uint64(n*statements) {
				return fmt.Errorf("%d sessions: %+v, in truth %+v: %s", n, said.Statements, did.Statements, r)
			}
			rss[i] = r.RSS
			if i == 1 {
				cpu = append(cpu, float64(r.CPU.Microseconds())/(many*statements))
			}
		}
		each = append(each, float64(rss[1]-rss[0])/(many-few)/1024)
	}
	t := newTable("R4 replay of sessions open at once", "KiB each", "budget", "CPU µs per statement")
	t.named(fmt.Sprint(many), each.spread(), verdict(each.median(), 40, true), cpu.spread())
	t.print()
	return nil
}
