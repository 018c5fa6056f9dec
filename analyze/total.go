package analyze

import (
	"math"
	"strings"

	"github.com/retrace-db/retrace/analyze/stat"
)

// total compares the mean service time, which is what adds up to the time that a
// workload takes, over the fingerprints whose latencies can be compared, each as
// often as the first run has it.
func (c *comparison) total(r *Report, rows []*row, run int) *Change {
	base, this := &r.Total.Runs[0], &r.Total.Runs[run]
	if verdict, why := c.unfit(base, this); verdict != "" {
		if verdict == Incomparable && len(c.why) > 0 {
			why = strings.Join(c.why, "; ")
		}
		return &Change{Verdict: verdict, Why: &why, Metric: metricMean}
	}
	m := mix2{paired: c.paired}
	groups := newTimes(c.base, c.run)
	pairs, timeUS := 0, 0.0
	for i, row := range rows {
		fb, fr := &r.Fingerprints[i].Runs[0], &r.Fingerprints[i].Runs[run]
		if fr.Median == nil {
			continue
		}
		timeUS += *fr.Median.TimeUS
		pairs += fr.Median.estimate.N
		if c.grouped {
			groups.add(row.in(0).each(), row.in(run).each(), float64(fb.Service.Count))
		}
		m.add(c, &row.in(0).sketch, &row.in(run).sketch, fb.Service, fr.Service)
	}
	if m.base == 0 || m.run == 0 {
		return &Change{Verdict: Incomparable, Why: new("no statement succeeded in both runs"), Metric: metricMean}
	}
	if c.grouped && !groups.any {
		return &Change{Verdict: Incomparable, Why: new("no statement succeeded in every run"), Metric: metricMean}
	}
	e := m.estimate(c.confidence)
	if c.grouped {
		e = groups.estimate(c.confidence)
	}
	e.N = pairs
	change := newChange(metricMean, c.by(), e)
	change.Verdict, change.P, change.TimeUS = c.latency(&e, e.P), &e.P, &timeUS
	if change.Verdict == Indeterminate {
		change.Why = new(c.unclear(change))
	}
	return change
}

func (c *comparison) by() string {
	switch {
	case c.grouped:
		return byRuns
	case c.paired:
		return byPairs
	default:
		return byWindows
	}
}

// mix2 is the time that two runs take for the same mix of statements, by blocks.
type mix2 struct {
	paired    bool
	base, run float64 // ns, from the exact means
	a, b      stat.Sums
}

func (m *mix2) add(c *comparison, base, run *sketch, baseTime, runTime *Latency) {
	n := float64(baseTime.Count)
	m.base += n * baseTime.Mean
	m.run += n * runTime.Mean
	if len(m.a.Value) == 0 {
		for _, s := range []*[]float64{&m.a.Value, &m.a.Weight, &m.b.Value, &m.b.Weight} {
			*s = make([]float64, maxBlocks)
		}
	}
	if !m.paired {
		sums(&m.a, base, &c.base.clock, n)
		sums(&m.b, run, &c.run.clock, n)
		return
	}
	pairs := 0
	together(base, run, func(_, _ *sample) { pairs++ })
	weight := n / float64(max(pairs, 1))
	together(base, run, func(a, b *sample) {
		block := c.base.clock.block(a)
		m.a.Value[block] += weight * float64(a.took)
		m.b.Value[block] += weight * float64(b.took)
	})
}

func sums(into *stat.Sums, s *sketch, c *clock, n float64) {
	weight := n / float64(max(len(s.samples), 1))
	for i := range s.samples {
		block := c.block(&s.samples[i])
		into.Value[block] += weight * float64(s.samples[i].took)
		into.Weight[block] += weight
	}
}

// estimate takes the spread from the samples, and the place from all statements.
func (m *mix2) estimate(confidence float64) stat.Estimate {
	var e stat.Estimate
	if m.paired {
		e = stat.PairedMean(m.a.Value, m.b.Value, confidence)
	} else {
		e = stat.Mean(m.a, m.b, confidence)
	}
	return e.MovedTo(math.Log(m.run / m.base))
}
