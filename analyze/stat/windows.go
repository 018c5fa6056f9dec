package stat

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// Samples estimates the change between two series of figures that are samples
// each: medians of windows, or of whole runs. Nothing is assumed of how they are
// distributed. The interval is made of those of both sides, and so a wide one.
// It sorts both.
func Samples(base, run []float64, confidence float64) Estimate {
	e := Estimate{Lo: math.Inf(-1), Hi: math.Inf(1), P: 1, N: min(len(base), len(run))}
	e.Blocks = e.N
	if e.N == 0 {
		return e
	}
	thresholds := &benchmath.Thresholds{CompareAlpha: 1 - confidence}
	a, b := benchmath.NewSample(base, thresholds), benchmath.NewSample(run, thresholds)
	e.P = benchmath.AssumeNothing.Compare(a, b).P
	sa, sb := benchmath.AssumeNothing.Summary(a, confidence), benchmath.AssumeNothing.Summary(b, confidence)
	e.Log = logRatio(sb.Center, sa.Center)
	if known(sa) && known(sb) {
		e.Lo, e.Hi = logRatio(sb.Lo, sa.Hi), logRatio(sb.Hi, sa.Lo)
	}
	return e
}

// known tells whether the samples were enough for an interval.
func known(s benchmath.Summary) bool { return !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) }

// logRatio of two figures, of which 0 is one too small to be seen.
func logRatio(over, under float64) float64 {
	switch {
	case over == under:
		return 0
	case over <= 0:
		return math.Inf(-1)
	case under <= 0:
		return math.Inf(1)
	default:
		return math.Log(over / under)
	}
}
