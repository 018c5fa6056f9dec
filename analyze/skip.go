package analyze

import "github.com/retrace-db/retrace/trace"

// warmup is the beginning of a run that is left out: caches are cold, sessions
// connect. What is in it still goes before what is counted, so that a pipeline or
// a backlog that began there is seen.
type warmup struct {
	length int64 // ns of the trace's time; 0: nothing is left out
	first  func() (int64, bool)
	end    int64
	known  bool
	left   uint64 // statements
}

// has tells whether an event belongs to it: by when it was due, where there is a
// schedule, so that runs of one trace leave out the same statements.
func (w *warmup) has(e *trace.Event) bool {
	if w.length == 0 {
		return false
	}
	at := e.Start
	if e.HasDue {
		at = e.Due
	}
	if !w.known {
		w.end, w.known = at, true
		if first, ok := w.first(); ok {
			w.end = first
		}
		w.end += w.length
	}
	return at < w.end
}

// inTime is how long a stretch of a trace's time takes in the run: a replay may
// be faster.
func inTime(ns int64, h *trace.Header) int64 {
	if ns == 0 || h == nil || h.Run == nil || h.Run.Pace != "original" || h.Run.Speed <= 0 {
		return ns
	}
	return max(int64(float64(ns)/h.Run.Speed), 1)
}
