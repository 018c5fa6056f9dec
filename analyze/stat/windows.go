package stat

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Samples estimates the change between two series of logarithms that are medians
// of windows of time. Nothing is assumed of how they are distributed: the test is
// Mann and Whitney's, and the interval that of the differences between any two
// (Hodges and Lehmann). Windows follow upon each other, so that few of them say
// less than as many independent samples would. It sorts both.
func Samples(base, run []float64, confidence float64) Estimate {
	return ranks(base, run, confidence, unanimous(min(len(base), len(run))))
}

// Runs is the same for samples that are independent: one of each run of a group.
// Four runs a side are the fewest that can tell anything at 95 %: one order of
// them in seventy has all of one side below the other.
func Runs(base, run []float64, confidence float64) Estimate {
	return ranks(base, run, confidence, 0)
}

// ranks never says less than a least p-value.
func ranks(base, run []float64, confidence, least float64) Estimate {
	e := Estimate{Lo: math.Inf(-1), Hi: math.Inf(1), P: 1, N: min(len(base), len(run))}
	if e.Blocks = e.N; e.N == 0 {
		return e
	}
	thresholds := &benchmath.Thresholds{CompareAlpha: 1 - confidence}
	e.P = max(benchmath.AssumeNothing.Compare(benchmath.NewSample(base, thresholds), benchmath.NewSample(run, thresholds)).P, least)
	apart := differences(base, run)
	e.Log = middle(apart)
	if skip := outside(len(base), len(run), confidence); skip >= 0 && least <= 1-confidence {
		e.Lo, e.Hi = apart[skip], apart[len(apart)-1-skip]
	}
	return e
}

// outside is how many differences are below the interval, and how many above it.
func outside(base, run int, confidence float64) int {
	n, m := float64(base), float64(run)
	return int(math.Floor(n*m/2 - 0.5 - quantile(confidence)*math.Sqrt(n*m*(n+m+1)/12)))
}

// differences are those between each of the run and each of the base, in order.
func differences(base, run []float64) []float64 {
	out := make([]float64, 0, len(base)*len(run))
	for _, a := range base {
		for _, b := range run {
			out = append(out, b-a)
		}
	}
	slices.Sort(out)
	return out
}
