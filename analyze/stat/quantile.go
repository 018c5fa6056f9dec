package stat

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// farthest is the largest change that is looked for, as a logarithm: e⁸ is about
// three thousand times.
const farthest = 8

// Quantile estimates how far the q-quantiles of two samples of logarithms are
// apart. For a shift, each block has a share of its values above the larger
// quantile of the two, and the shares of one side are ranked among those of the
// other (Mann and Whitney): what piles up in a few blocks is no change of the
// tail. It sorts both.
func Quantile(base, run []Value, q, confidence float64) Estimate {
	a, b := newTail(base, q), newTail(run, q)
	e := Estimate{Log: b.at - a.at, Lo: math.Inf(-1), Hi: math.Inf(1), P: 1, N: min(len(base), len(run)), Blocks: min(len(a.shares), len(b.shares))}
	if unanimous(e.Blocks) > 1-confidence {
		return e
	}
	at := func(shift float64) float64 {
		limitA, limitB := a.at, a.at+shift
		if b.at-shift > a.at {
			limitA, limitB = b.at-shift, b.at
		}
		return ranked(a.above(limitA), b.above(limitB))
	}
	e.P = min(max(2*stats.StdNormal.CDF(-math.Abs(at(0))), unanimous(e.Blocks)), 1)
	limit := quantile(confidence)
	e.Lo = crossing(at, limit, e.Log-farthest, e.Log)
	e.Hi = crossing(at, -limit, e.Log, e.Log+farthest)
	return e
}

// ranked is how many standard deviations the values of b rank above those of a,
// ties by the average.
func ranked(a, b []float64) float64 {
	type value struct {
		x     float64
		fromB bool
	}
	all := make([]value, 0, len(a)+len(b))
	for _, x := range a {
		all = append(all, value{x, false})
	}
	for _, x := range b {
		all = append(all, value{x, true})
	}
	slices.SortFunc(all, func(a, b value) int { return cmp.Compare(a.x, b.x) })
	sum, ties := 0.0, 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].x == all[i].x {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		for rank := float64(i+1+j) / 2; i < j; i++ {
			if all[i].fromB {
				sum += rank
			}
		}
	}
	n, m := float64(len(a)), float64(len(b))
	variance := n * m / 12 * ((n + m + 1) - ties/((n+m)*(n+m-1)))
	if !(variance > 0) { // all alike
		return 0
	}
	return (sum - m*(n+m+1)/2) / math.Sqrt(variance)
}

// tail is a sample, the largest first.
type tail struct {
	values []Value
	at     float64 // its quantile
	dense  []int32
	shares []float64
	sizes  []float64
}

func newTail(values []Value, q float64) *tail {
	slices.SortFunc(values, func(a, b Value) int { return cmp.Compare(b.X, a.X) })
	t := &tail{values: values}
	t.shares, t.dense = occupied(values)
	t.sizes = make([]float64, len(t.shares))
	for _, v := range values {
		t.sizes[t.dense[v.Block]]++
	}
	if n := len(values); n > 0 {
		rank := max(int(q*float64(n)+0.5), 1)
		t.at = values[n-rank].X
	}
	return t
}

// above is the share of each block's values above a limit, ties by half.
func (t *tail) above(limit float64) []float64 {
	clear(t.shares)
	for _, v := range t.values {
		if v.X < limit {
			break
		}
		score := 1.0
		if v.X == limit {
			score = 0.5
		}
		block := t.dense[v.Block]
		t.shares[block] += score / t.sizes[block]
	}
	return t.shares
}

// occupied numbers the blocks that have values.
func occupied(values []Value) (empty []float64, dense []int32) {
	for _, v := range values {
		for int(v.Block) >= len(dense) {
			dense = append(dense, -1)
		}
		if dense[v.Block] < 0 {
			dense[v.Block] = int32(len(empty))
			empty = append(empty, 0)
		}
	}
	return empty, dense
}
