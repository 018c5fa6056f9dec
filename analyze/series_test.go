package analyze

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every statement is in one bucket, whatever the times, and the buckets stay few.
func TestSeriesLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		far := rapid.SampledFrom([]int64{1e9, 1e12, 1e15, math.MaxInt64}).Draw(t, "far")
		times := rapid.SliceOfN(rapid.Int64Range(-far, far), 1, 200).Draw(t, "times")
		var s series
		for i, at := range times {
			if b := s.at(at); i%3 == 0 {
				b.failed++
			} else {
				b.record(int64(i) * 1000)
			}
		}
		if len(s.buckets) > maxBuckets {
			t.Fatalf("%d buckets", len(s.buckets))
		}
		wide := s.coarser(4 * s.width)
		if s.total() != uint64(len(times)) || wide.total() != s.total() {
			t.Fatalf("%d statements, %d and %d counted", len(times), s.total(), wide.total())
		}
		for _, at := range times {
			n := floorDiv(at, s.width) - s.first
			if n < 0 || n >= int64(len(s.buckets)) || s.buckets[n] == nil {
				t.Fatalf("nothing at %d", at)
			}
		}
	})
}

// A class holds durations that differ by at most a sixteenth, and its middle is
// within 3.2 % of them.
func TestCoarseClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(1<<coarseLow, 1<<coarseHigh-1).Draw(t, "ns")
		if m := middle(coarse(ns)); math.Abs(m/float64(ns)-1) > 0.032 {
			t.Fatalf("%d became %g", ns, m)
		}
		if next := rapid.Int64Range(ns, math.MaxInt64).Draw(t, "longer"); coarse(next) < coarse(ns) || coarse(next) >= coarseClasses {
			t.Fatalf("%d is in class %d, %d in %d", ns, coarse(ns), next, coarse(next))
		}
	})
	if coarse(0) != 0 || coarse(-5) != 0 || coarse(1023) != 0 {
		t.Error("what is shorter than a microsecond is not in the first class")
	}
}

// The drawn series: rates by the time that a bucket covers, runs at one width.
func TestDrawnSeries(t *testing.T) {
	var a, b series
	for i := range int64(40_000) {
		a.at(i * 1e6).record(2e6) // 40 s, a thousand a second
		if i%100 == 0 {
			b.at(i * 1e6).record(4e6)
			b.at(i*1e6).failed++
		}
	}
	runs := []Run{{series: &a, clock: clock{until: 40e9}}, {series: &b, clock: clock{until: 40e9}}}
	all := drawSeries(runs)
	if len(all) != 2 || !slices.Equal(all[0].T, all[1].T) || len(all[0].T) < 10 || len(all[0].T) > mostPoints {
		t.Fatalf("times %v and %v", all[0].T, all[1].T)
	}
	for i := range all[0].T {
		if r := *all[0].PerS[i]; r != 1000 {
			t.Errorf("%g a second at %g", r, all[0].T[i])
		}
		if p := *all[1].P99[i]; math.Abs(p/4000-1) > 0.032 {
			t.Errorf("p99 %g", p)
		}
		if r := *all[1].Failed[i]; r != 10 {
			t.Errorf("%g errors a second", r)
		}
	}
	if empty := drawSeries([]Run{{}, {series: &series{}}}); len(empty) != 2 || len(empty[1].T) != 0 {
		t.Errorf("of nothing: %v", empty)
	}
}

// The slowest stand, by whatever order they come.
func TestWorstExecutions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "n")
		var all []Execution
		for i := range n {
			all = append(all, Execution{uint64(i % 3), uint64(i), float64(rapid.IntRange(0, 9).Draw(t, "ms"))})
		}
		var w worst
		for _, i := range rapid.Permutation(indexes(n)).Draw(t, "order") {
			w.add(&timing{session: all[i].Session, ordinal: all[i].Ordinal, service: int64(all[i].ServiceUS * 1e3)})
		}
		slices.SortFunc(all, slowerFirst)
		if want := all[:min(n, maxWorst)]; !slices.Equal(w.all, want) {
			t.Fatalf("got %v, want %v", w.all, want)
		}
	})
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
