package stat

import (
	"cmp"
	"math"
	"slices"
)

// farthest is the largest change that is looked for, as a logarithm: e⁸ is about
// three thousand times.
const farthest = 8

// Quantile estimates how far the q-quantiles of two samples of logarithms are
// apart. For a shift, each block counts how many of its values lie above the
// larger quantile of the two, against what its size lets expect. It sorts both.
func Quantile(base, run []Value, q, confidence float64) Estimate {
	a, b := newTail(base, q), newTail(run, q)
	e := Estimate{Log: b.at - a.at, N: min(len(base), len(run)), Blocks: min(len(a.scores), len(b.scores))}
	freedom := max(len(a.scores)+len(b.scores)-2, 1)
	step := (1/float64(len(base)) + 1/float64(len(run))) / 2 // counts are whole numbers
	at := func(shift float64) float64 {
		limitA, limitB := a.at, a.at+shift
		if b.at-shift > a.at {
			limitA, limitB = b.at-shift, b.at
		}
		shareA, varianceA := a.above(limitA)
		shareB, varianceB := b.above(limitB)
		d := shareB - shareA
		d = math.Copysign(max(math.Abs(d)-step, 0), d)
		switch {
		case d == 0:
			return 0
		case varianceA+varianceB == 0:
			return math.Inf(int(d / math.Abs(d)))
		default:
			return d / math.Sqrt(varianceA+varianceB)
		}
	}
	limit := critical(confidence, freedom, e.Blocks)
	e.P = pValue(at(0), freedom, e.Blocks)
	if math.IsInf(limit, 1) {
		e.Lo, e.Hi = math.Inf(-1), limit
		return e
	}
	e.Lo = crossing(at, limit, e.Log-farthest, e.Log)
	e.Hi = crossing(at, -limit, e.Log, e.Log+farthest)
	return e
}

// tail is a sample, the largest first.
type tail struct {
	values []Value
	at     float64 // its quantile
	dense  []int32
	scores []float64
	sizes  []float64
}

func newTail(values []Value, q float64) *tail {
	slices.SortFunc(values, func(a, b Value) int { return cmp.Compare(b.X, a.X) })
	t := &tail{values: values}
	t.scores, t.dense = occupied(values)
	t.sizes = make([]float64, len(t.scores))
	for _, v := range values {
		t.sizes[t.dense[v.Block]]++
	}
	if n := len(values); n > 0 {
		rank := max(int(q*float64(n)+0.5), 1)
		t.at = values[n-rank].X
	}
	return t
}

// above is the share of the values above a limit, ties by half, and the variance
// of it as the blocks have it.
func (t *tail) above(limit float64) (share, variance float64) {
	clear(t.scores)
	total := 0.0
	for _, v := range t.values {
		if v.X < limit {
			break
		}
		score := 1.0
		if v.X == limit {
			score = 0.5
		}
		t.scores[t.dense[v.Block]] += score
		total += score
	}
	n, blocks := float64(len(t.values)), float64(len(t.scores))
	share = total / n
	for i, s := range t.scores {
		d := s - share*t.sizes[i]
		variance += d * d
	}
	return share, variance / (n * n) * blocks / max(blocks-1, 1)
}

// occupied numbers the blocks that have values.
func occupied(values []Value) (scores []float64, dense []int32) {
	for _, v := range values {
		for int(v.Block) >= len(dense) {
			dense = append(dense, -1)
		}
		if dense[v.Block] < 0 {
			dense[v.Block] = int32(len(scores))
			scores = append(scores, 0)
		}
	}
	return scores, dense
}
