package capture

import (
	"fmt"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// failure is what an encoder knows of a trace that cannot be written, mostly
// because the disk is full. The traffic goes on; what was not written is named
// once writing works again, and at the end.
type failure struct {
	broken  error // why nothing can be written now
	trouble error // the latest of such reasons
	dead    bool  // for good
	retry   int64
	flushed int64
	gaps    []trace.Gap // for the summary
	counted uint64
	missing uint64
	dropped [len(DropReasons)]uint64 // events
	errors  uint64                   // times that writing began to fail
	untold  []trace.Gap              // not in the trace yet
}

// level is what a session's policy must know: nothing can be written, or all.
func (e *encoder) level() pressure {
	if e.broken != nil {
		return full
	}
	return relaxed
}

// check takes note of a failure to write. What the writer held is lost, and
// will be in the gaps that it writes itself when it can write again.
func (e *encoder) check(err error) {
	if err == nil || e.broken != nil || e.w != nil && e.w.Failed() == nil {
		return
	}
	e.broken, e.trouble = err, err
	e.recorder.broken.Store(true)
	e.report(err)
	e.retry = e.recorder.options.Now() + int64(time.Second)
	if e.w == nil {
		return
	}
	for _, g := range e.w.Lost() {
		e.count(g)
		if l := e.live[g.Session]; l != nil && !l.policy.dropping {
			l.policy.begin(false, whyUnwritable)
		}
	}
}

// recovered keeps a bug of ours from ending the traffic.
func (e *encoder) recovered() {
	if p := recover(); p != nil {
		e.broken = fmt.Errorf("internal error: %v", p)
		e.trouble, e.dead = e.broken, true
		e.recorder.broken.Store(true)
		e.report(e.broken)
	}
}

// report tells whoever wants to know at once.
func (e *encoder) report(trouble error) {
	if trouble != nil {
		e.errors++
	}
	select {
	case e.recorder.options.Trouble <- trouble:
	default:
	}
}

// lose notes an event that was not written because nothing can be. The session
// is not recorded until it is idle again.
func (e *encoder) lose(l *life, r *row) {
	if !l.policy.dropping {
		l.policy.begin(false, whyUnwritable)
	}
	l.policy.miss(r.ordinal, r.ordinal, r.at)
}

// tell records what a session has lost.
func (e *encoder) tell(l *life) {
	if g, ok := l.policy.takeGap(); ok {
		e.record(trace.Gap{Session: l.id, First: g.ordinal, Last: g.prepare, Start: g.at, Why: g.reason})
	}
}

// gap records what a tap has dropped.
func (e *encoder) gap(l *life, r *row) {
	p := &l.policy
	left := r.flags&flagLeftOut != 0
	if p.lossy && !p.told && r.ordinal == p.last+1 && !left {
		p.last = r.prepare // one gap for what was lost on both sides of the queue
		return
	}
	if left {
		e.tell(l)
	}
	e.record(trace.Gap{Session: l.id, First: r.ordinal, Last: r.prepare, Start: r.at, Why: r.reason, LeftOut: left})
	l.next = r.prepare + 1
	if l.changed && !l.left {
		l.changed = false
		e.tellState(l) // what it has prepared or set meanwhile, no event tells
	}
}

// record puts a gap into the summary and the trace, now or later.
func (e *encoder) record(g trace.Gap) {
	e.count(g)
	if e.broken == nil {
		err := e.w.Gap(g)
		if err == nil {
			return
		}
		e.check(err)
	}
	if len(e.untold) < listedGaps {
		e.untold = append(e.untold, g)
	}
}

// count puts a gap into the summary.
func (e *encoder) count(g trace.Gap) {
	if g.LeftOut {
		e.recorder.leftOut.add(g.Why, 0, g.Events())
		return
	}
	e.counted++
	e.missing += g.Events()
	e.dropped[dropReason(g.Why)] += g.Events()
	if len(e.gaps) < listedGaps {
		e.gaps = append(e.gaps, g)
	}
}

// tick flushes what was written, and tries again to write where that failed.
func (e *encoder) tick(now int64) {
	defer e.recovered()
	switch {
	case e.broken != nil:
		if now >= e.retry && !e.dead {
			e.restart(now)
		}
	case e.w != nil && e.recorder.options.Rotate.due(e.file, e.w.Written(), now):
		e.rotate(now)
	case e.w != nil && now-e.flushed >= int64(e.recorder.options.Flush):
		e.flushed = now
		e.check(e.w.Flush())
	}
}

// restart tries to go on in a new segment.
func (e *encoder) restart(now int64) {
	e.retry = now + int64(time.Second)
	var err error
	if e.w == nil {
		err = e.begin()
	} else {
		err = e.w.Restart()
	}
	if err != nil {
		e.broken, e.trouble = err, err
		return
	}
	e.broken = nil
	untold := e.untold
	e.untold = nil
	for i, g := range untold {
		if err := e.w.Gap(g); err != nil {
			e.untold = append(e.untold, untold[i:]...)
			e.check(err)
			return
		}
	}
	e.recorder.broken.Store(false)
	e.report(nil)
}

// faulted ends a session whose protocol could not be understood: what it still
// waited for is lost, and what it did from here on is a gap.
func (e *encoder) faulted(l *life, r *row) {
	l.pending.each(func(s *sent) {
		if e.broken == nil {
			e.answer = trace.Reply{Took: max(r.at-s.start, 0), Status: trace.Lost, Reason: "unreadable"}
			e.check(e.w.Reply(l.id, s.ordinal, &e.answer, 0))
		}
	})
	l.pending = pendings{}
	e.tell(l)
	e.record(trace.Gap{Session: l.id, First: r.ordinal, Last: r.prepare, Start: r.at, Why: r.reason})
	l.next = r.prepare + 1
}

func (e *encoder) ended(l *life) {
	e.tell(l)
	e.tellOmitted(l)
	for name := range l.named {
		e.forget(l, name)
	}
	e.setsOf(l, nil, nil)
	delete(e.live, l.id)
	if e.w != nil {
		e.w.EndSession(l.id)
	}
}

// close ends the trace. If it cannot be written the reason stays in broken.
func (e *encoder) close() {
	defer e.recovered()
	if e.broken != nil && !e.dead {
		e.restart(e.recorder.options.Now())
	}
	if e.broken != nil {
		return
	}
	if e.w == nil {
		if e.check(e.begin()); e.broken != nil {
			return
		}
	}
	for _, g := range e.recorder.leftOut.gaps(e.recorder.options.Now()) {
		e.check(e.w.Gap(g))
	}
	e.check(e.w.Close())
}

func (e *encoder) totals() trace.Totals {
	var t trace.Totals
	if e.w != nil {
		t = e.w.Totals()
	}
	t.Gaps, t.Missing, t.LeftOut = e.counted, e.missing, e.recorder.leftOut.events()
	return t
}
