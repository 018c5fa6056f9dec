package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// The depression scale of nine patients before and after a tranquilizer:
// Hollander and Wolfe, Nonparametric Statistical Methods, example 3.1: estimate
// 0.46, interval (0.010, 0.786), exact p 0.039.
func TestMedianOfTheTextbook(t *testing.T) {
	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	var values []Value
	for i := range before {
		values = append(values, Value{before[i] - after[i], int32(i)})
	}
	e := Median(values, 0.95)
	near(t, "estimate", e.Log, 0.46, 1e-9)
	near(t, "low", e.Lo, 0.010, 1e-9)
	near(t, "high", e.Hi, 0.786, 1e-9)
	near(t, "p", e.P, 0.039, 0.002)
}

// Permeability of human chorioamnion at term and earlier: Hollander and Wolfe,
// example 4.1: exact p 0.2544, estimate -0.305, interval (-0.76, 0.15).
func TestSamplesOfTheTextbook(t *testing.T) {
	term := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	earlier := []float64{1.15, 0.88, 0.90, 0.74, 1.21, 0.95, 0.93, 1.10}
	e := Samples(term, earlier[:5], 0.95)
	near(t, "estimate", e.Log, -0.305, 1e-9)
	near(t, "p", e.P, 0.2544, 0.001)
	apart, skip := differences(term, earlier[:5]), outside(10, 5, 0.95)
	near(t, "low", apart[skip], -0.76, 1e-9)
	near(t, "high", apart[len(apart)-1-skip], 0.15, 1e-9)
	if !math.IsInf(e.Hi, 1) {
		t.Error("five windows have an interval")
	}
	e = Runs(term, earlier[:5], 0.95)
	near(t, "p of runs", e.P, 0.2544, 0.001)
	near(t, "low of runs", e.Lo, -0.76, 1e-9)
	near(t, "high of runs", e.Hi, 0.15, 1e-9)
}

// Of two groups of four there are seventy orders, two of which have all of one
// side below the other; of two of three there are twenty, which is too few.
func TestRuns(t *testing.T) {
	e := Runs([]float64{1, 2, 3, 4}, []float64{11, 12, 13, 14}, 0.95)
	near(t, "p", e.P, 2.0/70, 1e-9)
	near(t, "estimate", e.Log, 10, 1e-9)
	near(t, "low", e.Lo, 7, 1e-9)
	near(t, "high", e.Hi, 13, 1e-9)
	if e := Runs([]float64{1, 2, 3}, []float64{11, 12, 13}, 0.95); !math.IsInf(e.Lo, -1) || !math.IsInf(e.Hi, 1) || e.P < 0.0999 {
		t.Errorf("three runs: %+v", e)
	}
}

// Benjamini and Hochberg, 1995, section 3.1: of fifteen hypotheses the first
// four are rejected at 0.05.
func TestBenjaminiHochbergOfThePaper(t *testing.T) {
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	var rejected []float64
	for i, q := range BenjaminiHochberg(p) {
		if q <= 0.05 {
			rejected = append(rejected, p[i])
		}
		if p[i] == 0.0095 {
			near(t, "corrected", q, 0.0095*15/4, 1e-12)
		}
	}
	slices.Sort(rejected)
	if !slices.Equal(rejected, []float64{0.0001, 0.0004, 0.0019, 0.0095}) {
		t.Errorf("rejected %v", rejected)
	}
}

// Few blocks say nothing, however many values they hold and however far off.
func TestFewBlocksHaveNoInterval(t *testing.T) {
	for blocks := range 6 {
		var far, zero []Value
		weights, sums := make([]float64, blocks), make([]float64, blocks)
		for i := range blocks {
			weights[i], sums[i] = 100, 200+float64(i)
			for j := range 1000 {
				far = append(far, Value{3 + float64(j)/1e6, int32(i)})
				zero = append(zero, Value{float64(j) / 1e6, int32(i)})
			}
		}
		for what, e := range map[string]Estimate{
			"median": Median(slices.Clone(far), 0.95), "quantile": Quantile(zero, far, 0.99, 0.95),
			"paired mean": PairedMean(weights, sums, 0.95), "mean": Mean(Sums{weights, weights}, Sums{sums, weights}, 0.95),
		} {
			if e.P <= 0.05 || !math.IsInf(e.Lo, -1) || !math.IsInf(e.Hi, 1) {
				t.Errorf("%s of %d blocks: %+v", what, blocks, e)
			}
		}
		medians := make([]float64, blocks)
		if e := Samples(slices.Clone(medians), medians, 0.95); !math.IsInf(e.Hi, 1) || e.P <= 0.05 {
			t.Errorf("%d samples: %+v", blocks, e)
		}
	}
}

// draw makes blocks of a normal distribution with a spread between blocks too.
func draw(r *rand.Rand, blocks, each int, shift float64) []Value {
	var all []Value
	for b := range blocks {
		common := 0.2 * r.NormFloat64()
		for range each {
			all = append(all, Value{shift + common + 0.5*r.NormFloat64(), int32(b)})
		}
	}
	return all
}

func TestEstimatesFollowAShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		by := rapid.Float64Range(-3, 3).Draw(t, "shift")
		base, run := draw(r, 12, 100, 0), draw(r, 12, 100, 0)
		moved := slices.Clone(run)
		for i := range moved {
			moved[i].X += by
		}
		check := func(what string, at, from Estimate) {
			for name, d := range map[string]float64{"estimate": at.Log - from.Log, "low": at.Lo - from.Lo, "high": at.Hi - from.Hi} {
				if math.Abs(d-by) > 1e-6 {
					t.Errorf("%s: the %s moves by %g, not %g", what, name, d, by)
				}
			}
			if !(at.Lo <= at.Log && at.Log <= at.Hi) {
				t.Errorf("%s: %+v", what, at)
			}
		}
		check("quantile", Quantile(base, moved, 0.9, 0.95), Quantile(base, run, 0.9, 0.95))
		check("median", Median(moved, 0.95), Median(run, 0.95))
	})
}

// The intervals are as wide as those of drawing whole blocks again and again,
// and much wider than statements taken for independent would give.
func TestIntervalsAreThoseOfResampledBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	values := draw(r, 60, 50, 0)
	blocks := make([][]Value, 60)
	for _, v := range values {
		blocks[v.Block] = append(blocks[v.Block], v)
	}
	var medians, ratios []float64
	base, run := make([]float64, 60), make([]float64, 60)
	for i, b := range blocks {
		for _, v := range b {
			base[i]++
			run[i] += math.Exp(v.X)
		}
	}
	for range 2000 {
		var drawn []float64
		over, under := 0.0, 0.0
		for range blocks {
			i := r.IntN(len(blocks))
			over, under = over+run[i], under+base[i]
			for _, v := range blocks[i] {
				drawn = append(drawn, v.X)
			}
		}
		slices.Sort(drawn)
		medians, ratios = append(medians, middle(drawn)), append(ratios, math.Log(over/under))
	}
	for what, c := range map[string]struct {
		drawn []float64
		e     Estimate
	}{"median": {medians, Median(values, 0.95)}, "mean": {ratios, PairedMean(base, run, 0.95)}} {
		slices.Sort(c.drawn)
		want := c.drawn[1950] - c.drawn[50]
		if got := c.e.Hi - c.e.Lo; got < 0.75*want || got > 1.4*want {
			t.Errorf("%s: the interval is %g wide, resampling blocks gives %g", what, got, want)
		}
	}
}

// A true null is rejected about as often as α says, also when blocks differ.
func TestRateOfFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const trials = 1500
	alarms := map[string]int{}
	for range trials {
		base, run := draw(r, 30, 20, 0), draw(r, 30, 20, 0)
		paired := make([]Value, len(base))
		sumA, sumB := make([]float64, 30), make([]float64, 30)
		for i := range base {
			paired[i] = Value{run[i].X - base[i].X, base[i].Block}
			sumA[base[i].Block] += math.Exp(base[i].X)
			sumB[run[i].Block] += math.Exp(run[i].X)
		}
		alarms["mean"] += below(PairedMean(sumA, sumB, 0.95).P)
		alarms["quantile"] += below(Quantile(base, run, 0.9, 0.95).P)
		alarms["samples"] += below(Samples(Medians(base), Medians(run), 0.95).P)
		alarms["median"] += below(Median(paired, 0.95).P)
	}
	for what, n := range alarms {
		if share := float64(n) / trials; share > 0.07 {
			t.Errorf("%s: %.3f false alarms at 0.05", what, share)
		}
	}
}

func below(p float64) int {
	if p <= 0.05 {
		return 1
	}
	return 0
}

// A tail on one in a hundred moves the p99, and the median not.
func TestQuantileSeesATail(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	base, run := draw(r, 60, 200, 0), draw(r, 60, 200, 0)
	for i := range run {
		if r.IntN(100) == 0 {
			run[i].X += 3
		}
	}
	if e := Quantile(base, run, 0.99, 0.95); e.P > 1e-4 || e.Lo <= 0 {
		t.Errorf("p99: %+v", e)
	}
	if e := Samples(Medians(base), Medians(run), 0.95); e.P <= 0.05 {
		t.Errorf("median: %+v", e)
	}
}

// Clocks are coarse: values repeat.
func TestTies(t *testing.T) {
	flat := func(x float64) (all []Value) {
		for i := range 12_000 {
			all = append(all, Value{x, int32(i % 12)})
		}
		return all
	}
	for what, e := range map[string]Estimate{
		"median": Median(flat(0), 0.95), "quantile": Quantile(flat(1), flat(1), 0.99, 0.95), "samples": Samples(Medians(flat(1)), Medians(flat(1)), 0.95),
	} {
		if e.Log != 0 || e.P != 1 || e.Lo > 0 || e.Hi < 0 {
			t.Errorf("%s of the same: %+v", what, e)
		}
	}
	if e := Median(flat(1), 0.95); e.Log != 1 || e.Lo != 1 || e.Hi != 1 || e.P > 0.001 {
		t.Errorf("median: %+v", e)
	}
	if e := Quantile(flat(1), flat(2), 0.99, 0.95); e.Log != 1 || e.P > 0.001 {
		t.Errorf("quantile: %+v", e)
	}
}

func TestNothing(t *testing.T) {
	for what, e := range map[string]Estimate{
		"median": Median(nil, 0.95), "quantile": Quantile(nil, nil, 0.99, 0.95), "samples": Samples(nil, nil, 0.95),
		"paired mean": PairedMean(nil, nil, 0.95), "mean": Mean(Sums{}, Sums{}, 0.95), "zeros": PairedMean(make([]float64, 9), make([]float64, 9), 0.95),
	} {
		if e.P != 1 || e.Log != 0 || !math.IsInf(e.Hi, 1) {
			t.Errorf("%s: %+v", what, e)
		}
	}
	if len(BenjaminiHochberg(nil)) != 0 {
		t.Error("p-values of nothing")
	}
}
