// Package stat says how far two runs of a workload are apart, and how sure that
// is. It knows numbers only.
//
// Statements of one run are not independent: they share a cache, a checkpoint, a
// noisy neighbour. So nothing here takes a statement for a sample of its own. The
// unit is a block: a stretch of time, or a session. An estimate is tested by what
// its blocks say against each other, which is what drawing whole blocks again and
// again (a block bootstrap) approximates, here in closed form: no random numbers,
// and p-values small enough to be corrected for ten thousand fingerprints.
package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// Estimate is a ratio on the logarithmic scale, run over baseline: 0 is no
// change, and a bound is infinite where the blocks cannot give one.
type Estimate struct {
	Log, Lo, Hi float64
	P           float64 // of no change
	N           int     // what it was taken from: pairs, or samples of the smaller side
	Blocks      int
}

// MovedTo is the estimate with its spread kept and its place known from better
// figures than the blocks.
func (e Estimate) MovedTo(log float64) Estimate {
	by := log - e.Log
	e.Log, e.Lo, e.Hi = log, e.Lo+by, e.Hi+by
	return e
}

// unanimous is how often n blocks agree by chance: whatever the scores, no
// p-value is below it.
func unanimous(blocks int) float64 { return math.Exp2(float64(1 - blocks)) }

// pValue is two-sided.
func pValue(t float64, freedom, blocks int) float64 {
	if blocks < 2 {
		return 1
	}
	p := 2 * stats.TDist{V: float64(freedom)}.CDF(-math.Abs(t))
	return min(max(p, unanimous(blocks)), 1)
}

// critical is the t that the confidence allows, infinite with too few blocks.
func critical(confidence float64, freedom, blocks int) float64 {
	if blocks < 2 || unanimous(blocks) > 1-confidence {
		return math.Inf(1)
	}
	return stats.InvCDF(stats.TDist{V: float64(freedom)})((1 + confidence) / 2)
}

// crossing finds where a falling function meets a level between from and to;
// infinite where it never does.
func crossing(f func(float64) float64, level, from, to float64) float64 {
	if f(from) < level {
		return math.Inf(-1)
	}
	if f(to) > level {
		return math.Inf(1)
	}
	for range 30 {
		middle := from + (to-from)/2
		if f(middle) > level {
			from = middle
		} else {
			to = middle
		}
	}
	return from + (to-from)/2
}
