package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/retrace-db/retrace/replay"
)

// paceFlag is a pace, with its rate if it has one.
type paceFlag struct {
	name string
	rate float64
}

// UnmarshalText reads original, think, closed, or rate=500/s.
func (p *paceFlag) UnmarshalText(b []byte) (err error) {
	p.name, p.rate, err = replay.ParsePace(string(b))
	return err
}

// gapFlag is a length of time above zero.
type gapFlag time.Duration

// UnmarshalText reads 5s.
func (g *gapFlag) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is not a length of time such as 5s", b)
	}
	*g = gapFlag(d)
	return nil
}

// pace sets what the flags say of when requests are due.
func (c *replayCmd) pace(o *replay.Options) {
	o.Pace, o.Rate = c.Pace.name, c.Pace.rate
	if c.Speed != nil {
		o.Speed = *c.Speed
	}
	o.Loops = c.Loop
	o.MaxGap = time.Duration(c.MaxGap)
}

// validatePace refuses what makes no sense together. What depends on the trace is
// refused once that is known.
func (c *replayCmd) validatePace() error {
	if c.Speed != nil {
		if err := replay.CheckSpeed(*c.Speed); err != nil { // also 0, which means nothing in Options
			return asReplayUsage(err)
		}
	}
	if c.Loop < 1 {
		return usageError(replayTry+" --loop 3", "--loop %d is not a number of times", c.Loop)
	}
	if c.Loop > 1 && slices.Contains(c.Traces, "-") {
		return usageError(replayTry+" --loop 3", "--loop needs a trace that can be read again, and stdin cannot: write it to a file first")
	}
	var o replay.Options
	c.pace(&o)
	return asReplayUsage(o.Validate())
}
