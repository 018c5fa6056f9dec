package capture

import (
	"strings"

	"github.com/retrace-db/retrace/trace"
)

// Recorded says what has been recorded so far.
type Recorded struct {
	trace.Totals
	Gaps    []trace.Gap              // the first of them; Totals has their number
	LeftOut []LeftOut                // on purpose, by reason
	On      bool                     // recording is switched on
	Dropped [len(DropReasons)]uint64 // events that the gaps name, by reason
	Failed  uint64                   // how often the trace could not be written
	Queued  int64                    // bytes on their way to the encoder
	Room    int64                    // for them
	Drained int64                    // when the encoder last had nothing left to do, ns since the Unix epoch
	Faults  int64                    // sessions whose protocol could not be understood
	Trouble error                    // why the trace could not be written at some time, or nil
	Broken  bool                     // it still cannot
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
	r.snapshot.Dropped, r.snapshot.Failed, r.snapshot.Drained = e.dropped, e.errors, r.options.Now()
	r.snapshot.LeftOut, r.snapshot.On = r.leftOut.list(), !r.off.Load()
	r.err = e.broken
}

// Recorded is a recent count, at most a few milliseconds old.
func (r *Recorder) Recorded() Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.snapshot
	s.Queued, s.Room = r.queue.used.Load(), r.queue.limit
	s.Gaps = s.Gaps[:len(s.Gaps):len(s.Gaps)]
	return s
}

// DropReasons are the classes of reasons for which events are lost.
var DropReasons = [...]string{"behind", "unwritable", "unreadable", "other"}

// dropReason is the class of a gap's reason.
func dropReason(why string) int {
	switch {
	case why == whyBehind:
		return 0
	case why == whyUnwritable, strings.HasPrefix(why, "write trace:"):
		return 1
	case strings.HasPrefix(why, "unreadable"):
		return 2
	}
	return 3
}
