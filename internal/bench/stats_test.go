package main

import (
	"math"
	"testing"
)

func TestMedianAndRatios(t *testing.T) {
	for _, c := range []struct {
		in   series
		want float64
	}{{series{3, 1, 2}, 2}, {series{4, 1, 2, 3}, 2.5}, {series{7}, 7}} {
		if got := c.in.median(); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.in, got, c.want)
		}
	}
	if !math.IsNaN(series(nil).median()) {
		t.Error("the median of nothing is a number")
	}
	if got := (series{2, 9}).over(series{4, 3}); got[0] != 0.5 || got[1] != 3 {
		t.Error(got)
	}
	if got := (series{1.5, 1, 2}).spread(); got != "1.50 (1.00…2.00)" {
		t.Error(got)
	}
}

func TestVerdictSaysWhichWay(t *testing.T) {
	if got := verdict(0.9, 1, true); got != "≤ 1  ok" {
		t.Error(got)
	}
	if got := verdict(0.9, 1, false); got != "≥ 1  MISSED" {
		t.Error(got)
	}
}
