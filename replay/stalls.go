package replay

import (
	"sync"
	"time"
)

const (
	stallEvery = 100 * time.Millisecond
	stallLimit = 500 * time.Millisecond
	maxStalls  = 100
)

// Stall is a time in which this process stood still, as a suspended machine or a
// stopped process does: what was measured then says nothing of the target.
type Stall struct {
	AtS float64 `json:"at_s"` // after the clock's start
	S   float64 `json:"s"`    // how long
}

// stalls are those of a replay: all are counted, the first are kept.
type stalls struct {
	mu    sync.Mutex
	kept  []Stall
	n     int
	total time.Duration
}

func (l *stalls) add(at, long time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	l.total += long
	if len(l.kept) < maxStalls {
		l.kept = append(l.kept, Stall{at.Seconds(), long.Seconds()})
	}
}

func (l *stalls) all() (kept []Stall, n int, total time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept, l.n, l.total
}

// watch notices when this process stands still, until done.
func (l *stalls) watch(done <-chan struct{}) {
	tick := time.NewTicker(stallEvery)
	defer tick.Stop()
	start := time.Now()
	last := start
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			now := time.Now() // the tick's own time may be old
			if d := now.Sub(last); d > stallLimit {
				l.add(last.Sub(start), d)
			}
			last = now
		}
	}
}
