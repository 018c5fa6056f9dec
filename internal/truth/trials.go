package truth

import (
	"context"
	"fmt"
	"time"
)

// Change is what became of a statement's latency from one run to another, in
// percent: by what the server did, and by what the program says.
type Change struct {
	Statement string
	Shifted   bool // the second server was a fifth slower at it

	TrueMedian, TrueMean float64
	SaidMedian, SaidMean float64

	Verdict string
	LateUS  float64 // p99 of the servers' own lateness, the worse of both: how busy the machine was
}

// Trials record Narrow once and replay it n times on two servers that are
// alike but for their seeds, and n times on two of which the second is a fifth
// slower at the account statement. They replay in pace closed.
func (b *Bed) Trials(ctx context.Context, n, rate int, d time.Duration) ([]Change, error) {
	trace := b.Path("trials.trace")
	o, err := Narrow.Options(1)
	if err != nil {
		return nil, err
	}
	if _, err := b.Record(ctx, trace, o, b.Pgbench(ctx, Narrow, rate, d)); err != nil {
		return nil, err
	}
	var all []Change
	for i := range n {
		for _, shifted := range []string{"", "account"} {
			changes, err := b.trial(ctx, trace, uint64(10*i+2), shifted)
			if err != nil {
				return nil, err
			}
			all = append(all, changes...)
		}
	}
	return all, nil
}

// trial is one pair of runs.
func (b *Bed) trial(ctx context.Context, trace string, seed uint64, shifted string) ([]Change, error) {
	servers := []Workload{Narrow, Narrow.With(shifted, "lognormal(7.2ms,0.2)")}
	paths := []string{b.Path("a.run"), b.Path("b.run")}
	var medians, means [2]map[string]float64
	late := 0.0
	for i, w := range servers {
		o, err := w.Options(seed + uint64(i))
		if err != nil {
			return nil, err
		}
		r, did, err := b.Replay(ctx, trace, paths[i], o, "--pace", "closed")
		if err != nil {
			return nil, err
		}
		if r.Code != 0 {
			return nil, fmt.Errorf("retrace replay: %s", r)
		}
		if did.LateUS != nil {
			late = max(late, did.LateUS.P99)
		}
		medians[i], means[i] = map[string]float64{}, map[string]float64{}
		for _, s := range w {
			if t := s.Of(did); t.ActualUS != nil {
				medians[i][s.Name], means[i][s.Name] = t.ActualUS.P50, t.ActualUS.Mean
			}
		}
	}
	report, err := b.Analyze(ctx, paths...)
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, s := range Narrow {
		runs, verdict := s.In(report)
		was, is := runs[0].Service, runs[1].Service
		if was == nil || is == nil {
			return nil, fmt.Errorf("the report has no times of the statement %q", s.SQL)
		}
		all = append(all, Change{
			Statement: s.Name, Shifted: s.Name == shifted,
			TrueMedian: percent(medians[0][s.Name], medians[1][s.Name]), TrueMean: percent(means[0][s.Name], means[1][s.Name]),
			SaidMedian: percent(was.P50, is.P50), SaidMean: percent(was.Mean, is.Mean), Verdict: verdict, LateUS: late,
		})
	}
	return all, nil
}

func percent(was, is float64) float64 { return 100 * (is/was - 1) }
