package replay

import (
	"fmt"
	"math"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// Paces: what makes a request due.
const (
	PaceOriginal = "original" // its recorded offset, divided by the speed
	PaceThink    = "think"    // the reply before it, and the recorded pause, divided by the speed
	PaceClosed   = "closed"   // its session being free
	PaceRate     = "rate"     // its number, divided by the rate
)

// pace is when requests go out. The reader stamps every record; the session asks
// when the record's time has come.
type pace interface {
	name() string
	// scheduled tells whether the plan runs on whatever the target does, so that
	// the target can fall behind: response times and lag count from it.
	scheduled() bool
	// follows tells whether sessions begin when others have ended, and not at a
	// time: see gate.
	follows() bool
	// merges tells whether records are stamped in the recorded order of all
	// sessions, and not only in that of their own.
	merges() bool
	// stamp is what due needs to know of a record.
	stamp(m *moment) int64
	// due is when a stamped record may go out at the earliest, 0 for at once. The
	// replies that its client had are there.
	due(s *session, r *record) int64
	// rest is how long the reader has read far enough; 0 means it has not.
	rest(src *source) time.Duration
}

// moment is when something was recorded.
type moment struct {
	op      trace.Op // 0 for a reply
	first   bool     // of a request
	start   int64
	end     int64 // of the reply, as far as that is known
	running int   // 1 if its session has something running from here on, -1 if no longer
	pause   int64 // since the session's client had sent or received something before
}

// newPace is the pace of that name.
func newPace(name string, plan *schedule, silent *silence, o *Options) pace {
	switch name {
	case PaceRate:
		return newRatePace(plan, o.Rate)
	case PaceThink:
		return thinkPace{plan, silent}
	case PaceClosed:
		return closedPace{}
	default:
		return newOriginalPace(plan, silent)
	}
}

// checkPace tells whether what is said of a pace makes sense together.
func (o *Options) checkPace(name string) error {
	switch name {
	case PaceOriginal, PaceThink, PaceClosed, PaceRate:
	default:
		return &UsageError{fmt.Sprintf("unknown pace %q: there are original, think, closed and rate=N/s", name), "--pace original"}
	}
	gapless := name == PaceClosed || name == PaceRate
	switch rated := name == PaceRate; {
	case o.MaxGap < 0:
		return &UsageError{fmt.Sprintf("--max-gap %s is negative", o.MaxGap), "--max-gap 5s"}
	case o.MaxGap > 0 && gapless:
		return &UsageError{fmt.Sprintf("--max-gap has no meaning with --pace %s, which keeps no pauses", name), "--pace original --max-gap " + o.MaxGap.String()}
	case rated && !(o.Rate > 0 && !math.IsInf(o.Rate, 0)): // NaN is not above 0
		return &UsageError{fmt.Sprintf("rate %v is not a positive number of requests", o.Rate), "--pace rate=500/s"}
	case !rated && o.Rate != 0:
		return &UsageError{fmt.Sprintf("a rate has no meaning with --pace %s", name), "--pace rate=500/s"}
	case o.Speed == 0:
		return nil
	case rated:
		return &UsageError{"--speed has no meaning with --pace rate, which says how fast", fmt.Sprintf("--pace rate=%g/s", o.Rate*max(o.Speed, 1))}
	case name == PaceClosed:
		return &UsageError{"--speed has no meaning with --pace closed, which has no schedule", fmt.Sprintf("--pace original --speed %g", o.Speed)}
	}
	return CheckSpeed(o.Speed)
}
