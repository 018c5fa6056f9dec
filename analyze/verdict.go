package analyze

import (
	"cmp"
	"fmt"
	"math"

	"github.com/retrace-db/retrace/analyze/stat"
)

// Verdict says how the statements of a run fare against those of the first run.
type Verdict string

const (
	Improved      Verdict = "improved"      // faster, by the minimum effect or more
	Degraded      Verdict = "degraded"      // slower
	Same          Verdict = "same"          // neither, though sameWithin minimum effects would have been seen
	Indeterminate Verdict = "indeterminate" // too few statements, too short a time or too much noise to say
	Errored       Verdict = "errored"       // more failed than in the first run: how fast that was says nothing
	Incomparable  Verdict = "incomparable"  // not the same work, or not measured well enough
)

const (
	DefaultEffect      = 5.0  // percent
	DefaultConfidence  = 95.0 // percent
	DefaultMaxDiverged = 1.0  // percent

	sameWithin = 4    // minimum effects that the interval of the same must lie in
	tailFrom   = 2000 // samples below which nobody knows a p99: twenty lie above it
)

// The metrics that verdicts are about.
const (
	metricMedian = "service_p50"
	metricTail   = "service_p99"
	metricMean   = "service_mean"
)

// The ways to an interval.
const (
	byPairs   = "pairs"   // the same statement in both runs
	byWindows = "windows" // stretches of time of each run by itself
	byRuns    = "runs"    // whole runs of two groups
)

// Change is how a run's figure differs from the first run's, and what that means.
type Change struct {
	Verdict Verdict     `json:"verdict"`
	Why     *string     `json:"why"` // of errored, incomparable and indeterminate
	Metric  string      `json:"metric"`
	Pct     *float64    `json:"pct"`     // null where one of the runs has no figure
	CI      *[2]float64 `json:"ci"`      // of pct; null where there is too little to say
	By      *string     `json:"by"`      // pairs, windows or runs
	Pairs   *uint64     `json:"pairs"`   // statements that both runs have and the interval is of; null without
	Blocks  *int        `json:"blocks"`  // of time, or runs, on the side that has fewer
	P       *float64    `json:"p"`       // of no change, corrected for the number of fingerprints
	TimeUS  *float64    `json:"time_us"` // what it adds to the total service time, at this run's count

	estimate *stat.Estimate
}

// limits are the options that verdicts follow, as fractions.
type limits struct{ effect, confidence, diverged float64 }

func (o Options) limits() limits {
	return limits{
		cmp.Or(o.Effect, DefaultEffect) / 100, cmp.Or(o.Confidence, DefaultConfidence) / 100,
		value(cmp.Or(o.MaxDiverged, new(DefaultMaxDiverged))) / 100,
	}
}

// latency is the verdict on an estimate whose p-value was corrected.
func (l limits) latency(e *stat.Estimate, p float64) Verdict {
	least, most := math.Log1p(l.effect), math.Log1p(sameWithin*l.effect)
	apart := e.Lo > 0 || e.Hi < 0
	switch small := math.Abs(e.Log) < least; {
	case apart && !small && p <= 1-l.confidence && e.Log > 0:
		return Degraded
	case apart && !small && p <= 1-l.confidence:
		return Improved
	case e.Lo > -most && e.Hi < most && (small || !apart):
		return Same
	default:
		return Indeterminate
	}
}

// decide gives each change that has an estimate its verdict. All of them are one
// family: who looks at two hundred statements finds some that differ by chance.
func (l limits) decide(changes []*Change) {
	p := make([]float64, len(changes))
	for i, c := range changes {
		p[i] = c.estimate.P
	}
	for i, corrected := range stat.BenjaminiHochberg(p) {
		c := changes[i]
		c.Verdict, c.P = l.latency(c.estimate, corrected), &corrected
		if c.Verdict == Indeterminate {
			c.Why = new(l.unclear(c))
		}
	}
}

// unclear says what would help.
func (l limits) unclear(c *Change) string {
	e, runs := c.estimate, *c.By == byRuns
	switch few := math.IsInf(e.Lo, 0) || math.IsInf(e.Hi, 0); {
	case few && runs:
		return "too few runs: it takes four a side or more"
	case few:
		return fmt.Sprintf("too few blocks of time (%d) to know how much it varies", e.Blocks)
	case runs:
		return "it varies too much for so few runs"
	default:
		return "it varies too much for so few"
	}
}

// newChange describes an estimate.
func newChange(metric, by string, e stat.Estimate) *Change {
	c := &Change{Metric: metric, By: &by, Blocks: &e.Blocks, Pct: percent(e.Log), estimate: &e}
	if by == byPairs {
		c.Pairs = new(uint64(e.N))
	}
	if lo, hi := percent(e.Lo), percent(e.Hi); lo != nil && hi != nil {
		c.CI = &[2]float64{*lo, *hi}
	}
	return c
}

// percent turns a log-ratio into a change; nil if that is no number.
func percent(log float64) *float64 {
	v := 100 * math.Expm1(log)
	if math.IsInf(log, 0) || math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}
