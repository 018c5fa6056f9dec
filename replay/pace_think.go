package replay

import "time"

// thinkPace lets each session's client pause as it did: a request goes out its
// recorded pause, divided by the speed, after the reply that its client had
// waited for, or after the request before it where it had waited for none. So
// throughput follows the target, and concurrency is as recorded.
//
// A session begins when those are over that had ended before it began, after the
// recorded time from the last of these ends to its beginning.
type thinkPace struct {
	plan   *schedule
	silent *silence
}

func (thinkPace) name() string            { return PaceThink }
func (thinkPace) scheduled() bool         { return false }
func (thinkPace) follows() bool           { return true }
func (thinkPace) merges() bool            { return false }
func (t thinkPace) stamp(m *moment) int64 { return t.silent.shorten(m.pause) }

func (t thinkPace) due(s *session, r *record) int64 {
	since := max(s.sent, t.plan.base)
	if r.settled > s.waited || s.sent == 0 { // not for replies nobody had waited for
		since = max(since, s.heard)
	}
	return addClamped(since, t.plan.scaled(r.when))
}

// rest lets the reader read what sessions may need soon. That a session has
// nothing left is no reason by itself: its client may be silent for hours, and
// everybody else's records would pile up.
func (t thinkPace) rest(src *source) time.Duration {
	gate := src.p.gate
	if _, waiting := gate.undecided(); waiting >= maxWaiting {
		return crawl
	}
	if src.queued.Load() < src.prefetch {
		return 0
	}
	lead := max(src.wants.furthest(), gate.lead())
	if lead == none || lead == all {
		return src.unless(lead == all)
	}
	// Whoever has that lead gets to what was read last then, or later.
	soonest := addClamped(t.plan.base, t.plan.scaled(addClamped(src.horizon, -lead)-int64(lookAhead)))
	return until(addClamped(soonest, -int64(lookAhead)), src.p.clock.Now())
}

// lead is how far a session that has run out of records is ahead of the clock, as
// far as that matters: its next request is due no sooner than after the recorded
// pause, which is as long as what was read at least.
func (t thinkPace) lead(s *session) int64 {
	since := max(s.sent, t.plan.base)
	switch {
	case s.dead != "":
		return none
	case s.pending() != nil: // counts from a reply to come, but for a pipeline
	case s.ring.n > 0: // how long its recorded reply took is not read yet
		return all
	default:
		since = max(since, s.heard)
	}
	return t.plan.leadOf(s.tail.Load(), since)
}
