package replay

import (
	"math"
	"time"
)

// maxLoops is how many loops have figures of their own. The tallies of all count
// the others too.
const maxLoops = 1000

// Loop is the figures of one loop.
type Loop struct {
	ElapsedS   float64  `json:"elapsed_s"` // from its first request to its last reply
	Statements Tally    `json:"statements"`
	ServiceUS  *Average `json:"service_us"` // of statements that were ok; null where there are none
}

// Average is a mean and the longest, in microseconds.
type Average struct {
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

// loopFigures are what was counted of each loop, none where the trace is replayed
// once. They are under the lock of what they are part of.
type loopFigures []loopFigure

type loopFigure struct {
	statements  Tally
	first, last int64 // first is 0 where nothing was sent
	n           int64 // statements that were ok
	sum, max    int64 // of their service times
}

func newLoopFigures(loops int) loopFigures {
	if loops < 2 {
		return nil
	}
	return make(loopFigures, min(loops, maxLoops))
}

// settle takes the outcome of an event.
func (l loopFigures) settle(loop int, f *flight) {
	if loop >= len(l) || !f.leads && !f.op.Statement() || !f.attempted() {
		return
	}
	g := &l[loop]
	g.spans(f.sent, f.sent+f.took)
	if f.op.Statement() && f.status == 0 {
		g.n, g.sum, g.max = g.n+1, g.sum+f.took, max(g.max, f.took)
	}
}

// close takes the tallies of a session that is over.
func (l loopFigures) close(loop int, c *counts) {
	if loop < len(l) {
		l[loop].statements.add(&c.statements)
	}
}

func (g *loopFigure) spans(first, last int64) {
	if g.first == 0 {
		g.first = math.MaxInt64
	}
	g.first, g.last = min(g.first, first), max(g.last, last)
}

func (l loopFigures) merge(o loopFigures) {
	for i := range o {
		g, from := &l[i], &o[i]
		g.statements.add(&from.statements)
		if from.first != 0 {
			g.spans(from.first, from.last)
		}
		g.n, g.sum, g.max = g.n+from.n, g.sum+from.sum, max(g.max, from.max)
	}
}

// summary is nil where the trace was replayed once.
func (l loopFigures) summary() []Loop {
	var all []Loop
	for i := range l {
		g := &l[i]
		one := Loop{Statements: g.statements, ElapsedS: time.Duration(max(g.last-g.first, 0)).Seconds()}
		if g.n > 0 {
			one.ServiceUS = &Average{Mean: micros(g.sum) / float64(g.n), Max: micros(g.max)}
		}
		all = append(all, one)
	}
	return all
}

// loopSummary merges the stripes'.
func (a *account) loopSummary() []Loop {
	for i := range a.stripe {
		s := &a.stripe[i]
		s.mu.Lock()
		a.loops.merge(s.loops)
		s.mu.Unlock()
	}
	return a.loops.summary()
}
