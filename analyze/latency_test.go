package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// recorded is a distribution of the samples, packed.
func recorded(samples ...int64) *distribution {
	var d distribution
	for _, ns := range samples {
		d.record(ns)
	}
	return &d
}

func TestLatencyOfNothing(t *testing.T) {
	if l := new(distribution).latency(); l != nil {
		t.Errorf("got %+v", l)
	}
}

// AN-14: the documented rule on samples 1 to 10.
func TestPercentileRule(t *testing.T) {
	var d distribution
	for i := range int64(10) {
		d.record((i + 1) * 1000)
	}
	got := *d.latency()
	want := Latency{Count: 10, Mean: 5.5, Min: 1, P50: 5, P95: 10, P99: 10, P999: 10, Max: 10, Sum: 55}
	near(t, "p50", got.P50, want.P50, 0.001)
	got.P50 = want.P50
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOneValueIsExact(t *testing.T) {
	for _, ns := range []int64{0, 1, 100, 123_457, 7_200_000_000_000, highest} {
		for _, n := range []int{1, 1000} {
			var d distribution
			for range n {
				d.record(ns)
			}
			us := float64(ns) / 1e3
			got := *d.latency()
			near(t, "sum", got.Sum, us*float64(n), 1e-12)
			got.Sum = 0
			if want := (Latency{Count: uint64(n), Mean: us, Min: us, P50: us, P95: us, P99: us, P999: us, Max: us}); got != want {
				t.Errorf("%d × %d ns: got %+v, want %+v", n, ns, got, want)
			}
		}
	}
}

// AN-13: what does not fit is clamped and counted, never a panic or a wrong bucket.
func TestClampedIsCounted(t *testing.T) {
	got := recorded(-5000, 0, math.MaxInt64, math.MinInt64).latency()
	if got.Clamped != 3 || got.Count != 4 || got.Min != 0 || got.Max != highest/1e3 {
		t.Errorf("got %+v", got)
	}
}

func TestSumDoesNotOverflow(t *testing.T) {
	d := dense()
	const n = 200_000 // of 24 hours are 548 years; 64 bits hold 292
	for range n {
		d.record(highest)
	}
	if want := n * float64(highest); d.sum() != want {
		t.Errorf("sum %g, want %g", d.sum(), want)
	}
	if d.mean() != highest {
		t.Errorf("mean %g", d.mean())
	}
}

// AN-11: percentiles come from merged samples: the p99 of 9,900 × 1 ms and
// 100 × 1 s is one of the two, and the p99.9 is 1 s.
func TestPercentilesAreNotAveraged(t *testing.T) {
	var d distribution
	for range 9900 {
		d.record(1e6)
	}
	for range 100 {
		d.record(1e9)
	}
	got := d.latency()
	near(t, "p99", got.P99, 1e3, 0.001)
	near(t, "p999", got.P999, 1e6, 0.001)
}

func TestPercentilesOfKnownSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(1, 5000).Draw(t, "n")
		sigma := rapid.Float64Range(0, 4).Draw(t, "sigma")
		all := dense()
		var d distribution
		samples := make([]int64, n)
		for i := range samples {
			samples[i] = int64(math.Exp(math.Log(200_000) + sigma*r.NormFloat64()))
			d.record(samples[i])
			all.record(samples[i])
		}
		slices.Sort(samples)
		got := d.latency()
		if *got != *all.latency() {
			t.Errorf("packed %+v, dense %+v", got, all.latency())
		}
		for i, p := range []float64{got.P50, got.P95, got.P99, got.P999} {
			rank := max(int(percentiles[i]/100*float64(n)+0.5), 1)
			near(t, "percentile", p, float64(samples[min(rank, n)-1])/1e3, 0.001)
		}
		if got.Min != micros(samples[0]) || got.Max != micros(samples[n-1]) {
			t.Errorf("min %g, max %g", got.Min, got.Max)
		}
	})
}

func near(t interface{ Errorf(string, ...any) }, what string, got, want, tolerance float64) {
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s: got %g, want %g ± %g %%", what, got, want, tolerance*100)
	}
}
