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

func (thinkPace) name() string                   { return PaceThink }
func (thinkPace) scheduled() bool                { return false }
func (thinkPace) follows() bool                  { return true }
func (thinkPace) merges() bool                   { return false }
func (t thinkPace) stamp(m *moment) int64        { return t.silent.shorten(m.pause) }
func (thinkPace) rest(src *source) time.Duration { return closedPace{}.rest(src) }

func (t thinkPace) due(s *session, r *record) int64 {
	since := max(s.sent, t.plan.base)
	if r.settled > s.waited || s.sent == 0 { // not for replies nobody had waited for
		since = max(since, s.heard)
	}
	return addClamped(since, t.plan.scaled(r.when))
}
