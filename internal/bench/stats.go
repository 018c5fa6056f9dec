package main

import (
	"fmt"
	"math"
	"slices"
)

// series holds one figure of each round.
type series []float64

func (s series) median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	c := slices.Sorted(slices.Values(s))
	if n := len(c); n%2 == 0 {
		return (c[n/2-1] + c[n/2]) / 2
	}
	return c[len(c)/2]
}

// spread is the median with the lowest and the highest.
func (s series) spread() string {
	if len(s) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f…%.2f)", s.median(), slices.Min(s), slices.Max(s))
}

// over divides round by round, which takes out what slows a whole round.
func (s series) over(t series) series {
	var r series
	for i := range min(len(s), len(t)) {
		r = append(r, s[i]/t[i])
	}
	return r
}

// minus subtracts round by round.
func (s series) minus(t series) series {
	var r series
	for i := range min(len(s), len(t)) {
		r = append(r, s[i]-t[i])
	}
	return r
}

// verdict compares a median with its budget.
func verdict(got, budget float64, atMost bool) string {
	ok, sign := got >= budget, "≥"
	if atMost {
		ok, sign = got <= budget, "≤"
	}
	if ok {
		return fmt.Sprintf("%s %g  ok", sign, budget)
	}
	return fmt.Sprintf("%s %g  MISSED", sign, budget)
}
