package stat

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Value is a number with the block it belongs to; blocks are small numbers.
type Value struct {
	X     float64
	Block int32
}

// Median estimates the middle of the values, which are log-ratios of pairs. Each
// block gives its median; their signs could as well be the other way round if
// nothing had changed, which is Wilcoxon's signed-rank test, and its interval is
// of the averages of two blocks (Hodges and Lehmann). A few seconds in which one
// run was slow are a few blocks, however far they lie. It sorts the values.
func Median(values []Value, confidence float64) Estimate {
	e := Estimate{Lo: math.Inf(-1), Hi: math.Inf(1), P: 1, N: len(values)}
	blocks := Medians(values)
	if e.Blocks = len(blocks); e.Blocks == 0 {
		return e
	}
	e.P = signedRank(blocks)
	pairs := averages(blocks)
	e.Log = middle(pairs)
	// The number of averages below a shift is the rank sum of the blocks below it.
	b := float64(len(blocks))
	sigma := math.Sqrt(b * (b + 1) * (2*b + 1) / 24)
	if skip := int(math.Floor(b*(b+1)/4 - quantile(confidence)*sigma)); skip >= 0 && unanimous(len(blocks)) <= 1-confidence {
		e.Lo, e.Hi = pairs[skip], pairs[len(pairs)-1-skip]
	}
	return e
}

// Medians are those of the blocks that have values, in order. It sorts the values.
func Medians(values []Value) []float64 {
	slices.SortFunc(values, func(a, b Value) int { return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.X, b.X)) })
	var medians []float64
	for len(values) > 0 {
		n := 1
		for n < len(values) && values[n].Block == values[0].Block {
			n++
		}
		medians = append(medians, (values[(n-1)/2].X+values[n/2].X)/2)
		values = values[n:]
	}
	slices.Sort(medians)
	return medians
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// averages are those of each two values and of each with itself, in order.
func averages(values []float64) []float64 {
	out := make([]float64, 0, len(values)*(len(values)+1)/2)
	for i, a := range values {
		for _, b := range values[i:] {
			out = append(out, (a+b)/2)
		}
	}
	slices.Sort(out)
	return out
}

// signedRank is the p-value of values that are as often and as far below 0 as
// above. Zeros say nothing.
func signedRank(values []float64) float64 {
	signed := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v == 0 })
	slices.SortFunc(signed, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	sum, squares := 0.0, 0.0
	for i := 0; i < len(signed); {
		j := i + 1
		for j < len(signed) && math.Abs(signed[j]) == math.Abs(signed[i]) {
			j++
		}
		rank := float64(i+1+j) / 2
		for ; i < j; i++ {
			sum += math.Copysign(rank, signed[i])
			squares += rank * rank
		}
	}
	if sum == 0 {
		return 1
	}
	p := 2 * stats.StdNormal.CDF(-math.Abs(sum)/math.Sqrt(squares))
	return min(max(p, unanimous(len(signed))), 1)
}

// quantile is how many standard deviations hold a share around the middle.
func quantile(confidence float64) float64 { return stats.StdNormal.InvCDF((1 + confidence) / 2) }
