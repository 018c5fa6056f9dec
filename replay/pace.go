package replay

import "time"

// Paces: what makes a request due.
const (
	PaceOriginal = "original" // its recorded offset, divided by the speed
	PaceThink    = "think"    // the reply before it, and the recorded pause, divided by the speed
	PaceClosed   = "closed"   // its session being free
)

// pace is when requests go out. The reader stamps every record, in the order of
// its session; the session asks when the record's time has come.
type pace interface {
	name() string
	// scheduled tells whether the plan runs on whatever the target does, so that
	// the target can fall behind: response times and lag count from it.
	scheduled() bool
	// follows tells whether sessions begin when others have ended, and not at a
	// time: see gate.
	follows() bool
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
	start int64
	pause int64 // since the session's client had sent or received something before
}

// newPace is the pace of that name.
func newPace(name string, plan *schedule) pace {
	switch name {
	case PaceThink:
		return thinkPace{plan}
	case PaceClosed:
		return closedPace{}
	default:
		return originalPace{plan}
	}
}
