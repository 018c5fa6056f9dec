package replay

import (
	"time"

	"github.com/retrace-db/retrace/trace"
)

// ratePace sends the kth request k ÷ rate after the clock's start, in the order
// in which requests were recorded, whatever the target does. Logins, ends of
// sessions, cancel requests and the data of a COPY are not counted: they go where
// they stand between the requests.
type ratePace struct {
	plan *schedule
	each float64 // ns from one request to the next
	next *int64  // the reader's: number of the next request
}

func newRatePace(plan *schedule, perSecond float64) ratePace {
	return ratePace{plan, float64(time.Second) / perSecond, new(int64)}
}

func (ratePace) name() string    { return PaceRate }
func (ratePace) scheduled() bool { return true }
func (ratePace) follows() bool   { return false }
func (ratePace) merges() bool    { return true }

// stamp is the number of a request.
func (p ratePace) stamp(m *moment) int64 {
	n := *p.next
	if m.first && counted(m.op) {
		*p.next++
	}
	return n
}

// counted tells whether a rate counts requests that begin with such an event.
func counted(op trace.Op) bool {
	switch op {
	case trace.OpConnect, trace.OpEnd, trace.OpCancel, trace.OpCopy:
		return false
	}
	return true
}

func (p ratePace) due(_ *session, r *record) int64 { return p.at(r.when) }

func (p ratePace) at(n int64) int64 {
	if n == 0 {
		return p.plan.base // each may be infinite
	}
	return addClamped(p.plan.base, clamped(float64(n)*p.each))
}

func (p ratePace) rest(src *source) time.Duration {
	return until(addClamped(p.at(*p.next), -int64(lookAhead)), src.p.clock.Now())
}
