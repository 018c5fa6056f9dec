package replay

import "time"

// lookAhead is how far ahead of its clock a schedule is read, in the trace's time
// and in the replay's: a block holds a second of the trace, and reading it takes
// a moment.
const lookAhead = 2 * time.Second

// originalPace sends each request at its recorded offset, divided by the speed.
type originalPace struct{ plan *schedule }

func (originalPace) name() string                      { return PaceOriginal }
func (originalPace) scheduled() bool                   { return true }
func (originalPace) follows() bool                     { return false }
func (originalPace) merges() bool                      { return false }
func (originalPace) stamp(m *moment) int64             { return m.start }
func (o originalPace) due(_ *session, r *record) int64 { return o.plan.due(r.when) }

// rest is how long what was read last is still far enough ahead.
func (o originalPace) rest(src *source) time.Duration {
	ahead := o.plan.due(addClamped(src.horizon, -int64(lookAhead)))
	return until(addClamped(ahead, -int64(lookAhead)), src.p.clock.Now())
}

func until(at, now int64) time.Duration { return time.Duration(max(addClamped(at, -now), 0)) }
