package capture

import "github.com/retrace-db/retrace/trace"

// Recorded says what has been recorded so far.
type Recorded struct {
	trace.Totals
	Gaps    []trace.Gap // the first of them; Totals has their number
	LeftOut []LeftOut   // on purpose, by reason
	On      bool        // recording is switched on
	Faults  int64       // sessions whose protocol could not be understood
	Trouble error       // why the trace could not be written at some time, or nil
	Broken  bool        // it still cannot
}

// listedGaps bounds the gaps a recorder keeps to name at the end. The trace has
// them all.
const listedGaps = 10_000

// publish makes the encoder's figures readable for others.
func (r *Recorder) publish() {
	e := r.encoder
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshot = Recorded{Totals: e.totals(), Gaps: e.gaps, Faults: r.faults.Load(), Trouble: e.trouble, Broken: e.broken != nil}
	r.snapshot.LeftOut, r.snapshot.On = r.leftOut.list(), !r.off.Load()
	r.err = e.broken
}

// Recorded is a recent count, at most a few milliseconds old.
func (r *Recorder) Recorded() Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.snapshot
	s.Gaps = s.Gaps[:len(s.Gaps):len(s.Gaps)]
	return s
}
