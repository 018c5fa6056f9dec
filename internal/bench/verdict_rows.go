package main

import (
	"context"
	"fmt"
	"time"

	"github.com/retrace-db/retrace/analyze"
	"github.com/retrace-db/retrace/internal/calibrate"
)

// verdictRows measures how often verdicts are right, on made-up runs whose
// differences are known. It needs no server.
func (b *bench) verdictRows(ctx context.Context) error {
	t := newTable(
		"Verdicts, shares of seeds or fingerprints", "seeds", "A/A improved or degraded", "A/A reports with any", "A/A same",
		"A/A total same", "+20% found", "1% tail at p99", "tail taken for a shift", "s",
	)
	for _, c := range []struct {
		executions int
		along      calibrate.Along
		paired     bool
		seeds      int
		tail       bool // there are enough executions for a p99
	}{
		{1000, calibrate.Sessions, true, b.seeds, false},
		{1000, calibrate.Sessions, false, b.seeds, false},
		{1000, calibrate.Fingerprints, true, b.seeds, false},
		{1000, calibrate.Fingerprints, false, b.seeds, false},
		{5000, calibrate.Sessions, true, max(b.seeds/4, 1), true},
		{5000, calibrate.Fingerprints, true, max(b.seeds/4, 1), true},
	} {
		if ctx.Err() != nil {
			break // what there is, is worth seeing
		}
		begun := time.Now()
		w := calibrate.Workload{Fingerprints: 200, Executions: c.executions, Span: 5 * time.Minute, Along: c.along}
		s := calibrate.Calibrate(w, c.seeds, c.paired)
		how := "pairs"
		if !c.paired {
			how = "windows"
		}
		tail, moved := "-", percent(s.Rate(s.TailMoved))
		if c.tail {
			tail = percent(s.Rate(s.TailFound))
		}
		t.named(
			fmt.Sprintf("%d executions, noise along %s, %s", c.executions, c.along, how), fmt.Sprint(c.seeds),
			judged(s.Wrong(), 0.05, true), percent(s.Rate(s.Alarms)), judged(s.Share(analyze.Same), 0.9, false),
			percent(s.Rate(s.Totals[analyze.Same])), judged(s.Rate(s.ShiftFound), 0.95, false), tail, moved,
			fmt.Sprintf("%.0f", time.Since(begun).Seconds()),
		)
	}
	t.print()
	return ctx.Err()
}

func percent(share float64) string { return fmt.Sprintf("%.2f%%", 100*share) }

// judged is a share beside the budget for it.
func judged(share, budget float64, atMost bool) string {
	return percent(share) + "  " + verdict(100*share, 100*budget, atMost)
}
