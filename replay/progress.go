package replay

import "time"

// Progress gives the live counters of a replay.
type Progress struct{ p *player }

// Snapshot is a Progress at one moment.
type Snapshot struct {
	Phase      string // running, duration, interrupted
	Sessions   int    // with a connection or about to have one
	Read       uint64 // statements, by the reader
	Statements uint64 // with an outcome
	Errors     uint64
	Diverged   uint64
	Offset     time.Duration // how far in the trace: pace original only
	Lag        time.Duration // the longest since the last look
}

// Now takes the counters.
func (g *Progress) Now() Snapshot {
	p := g.p
	s := Snapshot{Phase: p.phase().String()}
	p.mu.Lock()
	s.Sessions = len(p.playing)
	p.mu.Unlock()
	for i := range p.account.stripe {
		st := &p.account.stripe[i]
		st.mu.Lock()
		s.Statements += st.done
		s.Diverged += st.diverged
		for _, n := range st.errors {
			s.Errors += n
		}
		s.Lag = max(s.Lag, time.Duration(st.recentLag))
		st.recentLag = 0
		st.mu.Unlock()
	}
	if p.pace.name() == PaceOriginal && p.begun.Load() {
		s.Offset = time.Duration(max(p.schedule.recorded(p.clock.Now())-p.schedule.origin, 0) + p.silent.cut.Load())
	}
	return s
}
