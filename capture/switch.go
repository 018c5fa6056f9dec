package capture

import (
	"time"

	"github.com/retrace-db/retrace/trace"
)

// Start begins to record, or goes on after Stop: each session from its next
// request outside of a transaction on. What was passed on in between is in the
// trace as left out. A trace that goes on does so in a segment of its own. It
// returns false if recording was on already. restore is where the server is now,
// nil if that is not known.
func (r *Recorder) Start(restore *trace.Restore) (changed bool) {
	return r.order(func() bool { return r.start(restore) })
}

// Stop ends recording for now: each session's as soon as it is outside of a
// transaction. It returns false if recording was off already.
func (r *Recorder) Stop() (changed bool) { return r.order(r.pause) }

// order has the encoder's goroutine do something. After Close it does nothing.
func (r *Recorder) order(do func() bool) (changed bool) {
	answer := make(chan bool, 1)
	select {
	case r.orders <- func() { answer <- do() }:
		return <-answer
	case <-r.done:
		return false
	}
}

func (r *Recorder) start(restore *trace.Restore) bool {
	if !r.off.Load() {
		return false
	}
	r.drain(false) // what was recorded before stays in the segment before
	r.encoder.resume(r.options.Now(), restore)
	r.starts.Add(1)
	r.off.Store(false)
	r.publish()
	return true
}

func (r *Recorder) pause() bool {
	if r.off.Swap(true) {
		return false
	}
	r.encoder.pause = r.options.Now()
	r.publish()
	return true
}

// resume makes the trace go on, or begin, now.
func (e *encoder) resume(now int64, restore *trace.Restore) {
	defer e.recovered()
	switch {
	case e.waiting:
		e.waiting, e.begins = false, now
		e.recorder.options.Header.Restore = restore
	case e.w != nil:
		e.check(e.w.NewSegment(func(h *trace.Header) { h.PausedFrom, h.Restore = rfc3339(e.pause), restore }))
	}
}

func rfc3339(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// joined introduces a session that is recorded from here on, with all that was
// followed of it. It stands after what was recorded of the session before.
func (e *encoder) joined(l *life, r *row) {
	if l.next > 0 && e.broken == nil {
		e.check(e.w.Flush())
	}
	l.left, l.next, l.policy.state = false, r.ordinal, 'I'
	e.tellState(l)
}

func (e *encoder) tellState(l *life) {
	if e.broken == nil {
		s := l.state()
		e.check(e.w.State(&s))
	}
}
