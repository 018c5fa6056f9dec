package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/retrace-db/retrace/internal/truth"
)

// truthRows replay against simulated targets whose truth is known: pairs that
// are alike, and pairs of which the second is a fifth slower at one statement.
func (b *bench) truthRows(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "retrace-truth-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bed := truth.Bed{Program: b.retrace, Dir: dir}
	changes, err := bed.Trials(ctx, b.rounds, 80, 2*b.each)
	if err != nil {
		return err
	}
	t := newTable(fmt.Sprintf("Truth: %d pairs of runs each, change in %%", b.rounds),
		"pairs", "median in truth", "median said", "mean in truth", "mean said", "said beyond ±5", "improved or degraded", "off the truth by", "budget")
	late := 0.0
	for _, shifted := range []bool{false, true} {
		for _, s := range truth.Narrow {
			var c trialFigures
			for _, one := range changes {
				if one.Statement == s.Name && one.Shifted == shifted {
					c.add(one)
				}
				late = max(late, one.LateUS)
			}
			if len(c.said) > 0 {
				name := s.Name + ", A/A"
				if shifted {
					name = s.Name + ", +20 %"
				}
				c.print(t, name)
			}
		}
	}
	t.print()
	fmt.Printf("The simulated servers themselves were late by up to %.0f µs (p99 of the worst run).\n\n", late)
	return nil
}

// trialFigures are those of one statement.
type trialFigures struct {
	truly, said, trulyMean, saidMean, off series
	beyond, judged                        int
}

func (f *trialFigures) add(c truth.Change) {
	f.truly, f.said = append(f.truly, c.TrueMedian), append(f.said, c.SaidMedian)
	f.trulyMean, f.saidMean = append(f.trulyMean, c.TrueMean), append(f.saidMean, c.SaidMean)
	f.off = append(f.off, math.Abs(c.SaidMedian-c.TrueMedian))
	if math.Abs(c.SaidMedian) > 5 {
		f.beyond++
	}
	if c.Verdict == "improved" || c.Verdict == "degraded" {
		f.judged++
	}
}

func (f *trialFigures) print(t figuresTable, name string) {
	t.named(name, fmt.Sprint(len(f.said)), f.truly.spread(), f.said.spread(), f.trulyMean.spread(), f.saidMean.spread(),
		fmt.Sprint(f.beyond), fmt.Sprint(f.judged), f.off.spread(), verdict(f.off.median(), 5, true))
}
