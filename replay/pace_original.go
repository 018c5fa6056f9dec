package replay

import (
	"math"
	"time"
)

// lookAhead is how far ahead of its clock a schedule is read, in the trace's time
// and in the replay's: a block holds a second of the trace, and reading it takes
// a moment.
const lookAhead = 2 * time.Second

// originalPace sends each request at its recorded offset, divided by the speed,
// less the stretches in which no session had anything running, if they are cut.
type originalPace struct {
	plan   *schedule
	silent *silence
	latest *int64 // the reader's: the latest stamp
}

func newOriginalPace(plan *schedule, silent *silence) originalPace {
	p := originalPace{plan, silent, new(int64)}
	*p.latest = math.MinInt64
	return p
}

func (originalPace) name() string    { return PaceOriginal }
func (originalPace) scheduled() bool { return true }
func (originalPace) follows() bool   { return false }
func (p originalPace) merges() bool  { return p.silent.longest > 0 }

func (p originalPace) stamp(m *moment) int64 {
	at := m.start
	if p.silent.longest > 0 {
		at = p.silent.pass(m)
	}
	if m.op != 0 {
		*p.latest = max(*p.latest, at)
	}
	return at
}

func (p originalPace) due(_ *session, r *record) int64 { return p.plan.due(r.when) }

// rest is how long what was read last is still far enough ahead.
func (p originalPace) rest(src *source) time.Duration {
	ahead := p.plan.due(addClamped(*p.latest, -int64(lookAhead)))
	return until(addClamped(ahead, -int64(lookAhead)), src.p.clock.Now())
}

func until(at, now int64) time.Duration { return time.Duration(max(addClamped(at, -now), 0)) }
