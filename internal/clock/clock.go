// Package clock tells time that never steps and waits for a moment more
// precisely than Go's own timers, which are about half a millisecond late on
// Linux because the runtime sleeps in whole milliseconds.
package clock

import (
	"context"
	"time"
)

// Clock is what pacing needs of time. It is an argument so that a schedule can
// be tested under testing/synctest.
type Clock interface {
	// Now is in ns since the Unix epoch and never steps: it is the wall clock
	// read once, plus what has passed since on the monotonic clock.
	Now() int64
	// Wait returns when Now is t or later, or with the error of ctx.
	Wait(ctx context.Context, t int64) error
	// At calls f once Now is t or later, on another goroutine, which f must not
	// hold up. stop takes that back, unless f has begun.
	At(t int64, f func()) (stop func())
}

// anchor ties the monotonic clock to one reading of the wall clock, so that a
// step of the wall clock in the middle of a run moves no schedule.
type anchor struct {
	wall  int64
	start time.Time
}

func newAnchor() anchor {
	now := time.Now()
	return anchor{wall: now.UnixNano(), start: now}
}

// Now is in ns since the Unix epoch and never steps.
func (a anchor) Now() int64 { return a.wall + int64(time.Since(a.start)) }

// Timers is a Clock on Go's timers: right everywhere, late by up to a
// millisecond or so on Linux, and the one that works under testing/synctest.
type Timers struct{ anchor }

// NewTimers reads the wall clock and starts counting.
func NewTimers() *Timers { return &Timers{newAnchor()} }

// At calls f once Now is t or later.
func (c *Timers) At(t int64, f func()) (stop func()) {
	timer := time.AfterFunc(time.Duration(max(t, 0)-c.Now()), f)
	return func() { timer.Stop() }
}

// Wait returns when Now is t or later, or with the error of ctx.
func (c *Timers) Wait(ctx context.Context, t int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t <= c.Now() {
		return nil
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	// More than once: a timer holds at most 292 years, and rounding may wake early.
	for {
		left := t - c.Now()
		if left <= 0 {
			return nil
		}
		timer.Reset(time.Duration(left))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
