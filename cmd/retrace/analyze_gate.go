package main

import (
	"fmt"

	"github.com/retrace-db/retrace/analyze"
	"github.com/retrace-db/retrace/analyze/gate"
)

// gateFlag is a condition of --fail-if.
type gateFlag struct{ *gate.Gate }

// UnmarshalText reads a condition.
func (g *gateFlag) UnmarshalText(b []byte) error {
	var err error
	g.Gate, err = gate.Parse(string(b))
	return err
}

// checkGates refuses conditions on changes where there is nothing to compare with.
func (c *analyzeCmd) checkGates(traces int) error {
	for _, g := range c.FailIf {
		if traces == 1 && g.Relative() {
			return usageError("retrace analyze before.run after.run --fail-if 'any degraded'", "--fail-if %q compares, and there is one trace", g)
		}
	}
	return nil
}

// gates tries the conditions and writes into the report what came of them.
func (c *analyzeCmd) gates(r *analyze.Report) error {
	gates := make([]*gate.Gate, 0, len(c.FailIf))
	for _, g := range c.FailIf {
		gates = append(gates, g.Gate)
	}
	if gate.Check(gates, r) {
		return nil
	}
	failed := 0
	for _, g := range r.Gates {
		if g.Failed {
			failed++
		}
	}
	return exitError{Code: exitGate, Err: fmt.Errorf("%d of %d --fail-if conditions are so", failed, len(r.Gates))}
}
