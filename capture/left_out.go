package capture

import (
	"cmp"
	"slices"
	"sync"

	"github.com/retrace-db/retrace/trace"
)

// LeftOut counts what was left out on purpose, for one reason.
type LeftOut struct {
	Why      string
	Sessions uint64 // of which nothing was recorded, those that have ended
	Events   uint64 // of these, and of others
}

// leftOut counts by reason. Sessions add to it when they end or come back.
type leftOut struct {
	mu      sync.Mutex
	byWhy   map[string]*LeftOut
	unnamed map[string]uint64 // events that no gap in the trace names
}

func (l *leftOut) add(why string, sessions, events uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.byWhy[why]
	if n == nil {
		if l.byWhy == nil {
			l.byWhy, l.unnamed = map[string]*LeftOut{}, map[string]uint64{}
		}
		n = &LeftOut{Why: why}
		l.byWhy[why] = n
	}
	n.Sessions += sessions
	n.Events += events
}

func (l *leftOut) list() []LeftOut {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []LeftOut
	for _, n := range l.byWhy {
		all = append(all, *n)
	}
	slices.SortFunc(all, func(a, b LeftOut) int { return cmp.Compare(a.Why, b.Why) })
	return all
}

func (l *leftOut) events() (sum uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.byWhy {
		sum += n.Events
	}
	return sum
}

// gaps stand for the events that are not named otherwise.
func (l *leftOut) gaps(now int64) (all []trace.Gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for why, n := range l.unnamed {
		if n > 0 {
			all = append(all, trace.Gap{First: 1, Last: n, Start: now, Why: why, LeftOut: true})
		}
	}
	slices.SortFunc(all, func(a, b trace.Gap) int { return cmp.Compare(a.Why, b.Why) })
	return all
}

// passed counts what no gap will name: sessions of which nothing was recorded,
// and events before a session was first recorded.
func (r *Recorder) passed(why string, sessions, events uint64) {
	r.leftOut.add(why, sessions, events)
	r.leftOut.mu.Lock()
	defer r.leftOut.mu.Unlock()
	r.leftOut.unnamed[why] += events
}
