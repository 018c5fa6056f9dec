package replay

import (
	"maps"
	"sync"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// stripes is how many independent parts the account has: with few cores, as
// many as sessions that finish an event at the same moment.
const stripes = 4

// account counts outcomes and collects measurements. Sessions settle events in
// the stripe of their id, so that they hardly ever wait for each other.
type account struct {
	stripe [stripes]stripe

	mu       sync.Mutex
	sessions counts // of sessions that are over
	broken   []uint64
	loops    loopFigures
	failed   uint64 // sessions that got no connection
	lost     uint64 // sessions whose connection broke
}

// stripe is one part of the account.
type stripe struct {
	mu sync.Mutex
	measures
	loops loopFigures
	rows  []row // for the run; see runWriter
	_     [64]byte
}

// measures are what the summary says besides the tallies.
type measures struct {
	done            uint64 // statements with an outcome, for the progress
	recentLag       int64  // the longest since somebody looked
	errors          map[string]uint64
	reasons         map[string]uint64
	eventErrors     map[string]uint64
	eventReasons    map[string]uint64
	compared        uint64
	diverged        uint64
	divergedStatus  uint64
	divergedRows    uint64
	divergedResult  uint64
	checked         uint64 // statements with a checksum of their result on both sides
	divergedOther   uint64 // events that are no statements
	diverging       divergences
	preparedAgain   uint64
	retries         uint64            // transactions sent again, each time
	retriedLater    uint64            // transactions that took more than one attempt
	notRetried      map[string]uint64 // serialization failures after which nothing was sent again
	retry           *histogram        // from the first attempt's start to the last one's end
	orderReleased   uint64            // transactions that started before one they should have waited for was over
	order           *histogram        // waits for other transactions
	lag, late, busy *histogram        // late: schedule error; busy: the rest of the lag
	service         *histogram
}

func newMeasures() measures {
	return measures{
		errors: map[string]uint64{}, reasons: map[string]uint64{},
		eventErrors: map[string]uint64{}, eventReasons: map[string]uint64{},
		notRetried: map[string]uint64{}, retry: newHistogram(), order: newHistogram(), lag: newHistogram(), late: newHistogram(), busy: newHistogram(), service: newHistogram(),
	}
}

func newAccount(loops int) *account {
	a := &account{loops: newLoopFigures(loops)}
	for i := range a.stripe {
		a.stripe[i].loops = newLoopFigures(loops)
		a.stripe[i].measures = newMeasures()
	}
	return a
}

func (a *account) of(session uint64) *stripe { return &a.stripe[session%stripes] }

// settle takes the outcome of an event.
func (m *measures) settle(f *flight, scheduled bool) {
	statement := f.op.Statement()
	if statement {
		m.done++
	}
	if f.status != trace.OK {
		m.refused(f, statement)
	} else if statement {
		m.service.record(f.took)
	}
	m.compare(f, statement)
	if f.leads && f.due != 0 {
		m.timing(f, scheduled)
	}
}

// timing takes how punctual a request was. Only a schedule runs on while the
// target is busy.
func (m *measures) timing(f *flight, scheduled bool) {
	late := max(f.sent-max(f.due, f.free), 0)
	m.late.record(late)
	if !scheduled {
		return
	}
	lag := max(f.sent-f.due, 0)
	m.recentLag = max(m.recentLag, lag)
	m.lag.record(lag)
	m.busy.record(lag - late)
}

func (m *measures) refused(f *flight, statement bool) {
	if f.status == trace.Error {
		m.eventErrors[f.reason]++
		if statement {
			m.errors[f.reason]++
		}
		return
	}
	m.eventReasons[f.reason]++
	if statement {
		m.reasons[f.reason]++
	}
}

func (m *measures) compare(f *flight, statement bool) {
	if !f.comparable() {
		return
	}
	if !statement {
		if f.diverged != 0 {
			m.divergedOther++
		}
		return
	}
	m.compared++
	if f.checked {
		m.checked++
	}
	if f.diverged != 0 {
		m.diverged++
	}
	if f.diverged&trace.DivergedStatus != 0 {
		m.divergedStatus++
	}
	if f.diverged&trace.DivergedRows != 0 {
		m.divergedRows++
	}
	if f.diverged&trace.DivergedResult != 0 {
		m.divergedResult++
	}
}

// close takes the tallies of a session that is over.
func (a *account) close(session uint64, loop int, c *counts) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions.add(c)
	a.loops.close(loop, c)
	if !c.holds() && len(a.broken) < 10 {
		a.broken = append(a.broken, session)
	}
}

// single takes the outcome of a session that is one event.
func (a *account) single(session uint64, f *flight) {
	var c counts
	c.captured(f.op)
	c.count(f.op, f.status)
	a.close(session, maxLoops, &c) // it is no statement
	s := a.of(session)
	s.mu.Lock()
	s.settle(f, false)
	s.mu.Unlock()
}

// preparedAgain counts statements that were prepared late.
func (a *account) preparedAgain(session uint64, n int) {
	s := a.of(session)
	s.mu.Lock()
	s.measures.preparedAgain += uint64(n)
	s.mu.Unlock()
}

// ordered counts a wait for other transactions, in vain or not.
func (a *account) ordered(session uint64, wait time.Duration, kept bool) {
	s := a.of(session)
	s.mu.Lock()
	s.measures.order.record(int64(wait))
	if !kept {
		s.orderReleased++
	}
	s.mu.Unlock()
}

// retry counts that a transaction is sent again.
func (a *account) retry(session uint64) {
	s := a.of(session)
	s.mu.Lock()
	s.retries++
	s.mu.Unlock()
}

// retried counts a transaction that took several attempts.
func (a *account) retried(session uint64, took int64) {
	s := a.of(session)
	s.mu.Lock()
	s.retriedLater++
	s.measures.retry.record(took)
	s.mu.Unlock()
}

// notRetried counts a serialization failure that stays.
func (a *account) notRetried(session uint64, why string) {
	s := a.of(session)
	s.mu.Lock()
	s.measures.notRetried[why]++
	s.mu.Unlock()
}

func (a *account) sessionFailed() {
	a.mu.Lock()
	a.failed++
	a.mu.Unlock()
}

func (a *account) sessionLost() {
	a.mu.Lock()
	a.lost++
	a.mu.Unlock()
}

// total merges the stripes.
func (a *account) total() measures {
	t := newMeasures()
	for i := range a.stripe {
		s := &a.stripe[i]
		s.mu.Lock()
		t.merge(&s.measures)
		s.mu.Unlock()
	}
	return t
}

func (m *measures) merge(o *measures) {
	for _, pair := range []struct{ to, from map[string]uint64 }{
		{m.errors, o.errors},
		{m.reasons, o.reasons},
		{m.eventErrors, o.eventErrors},
		{m.eventReasons, o.eventReasons},
		{m.notRetried, o.notRetried},
	} {
		for word := range maps.Keys(pair.from) {
			pair.to[word] += pair.from[word]
		}
	}
	m.done += o.done
	m.compared += o.compared
	m.diverged += o.diverged
	m.divergedStatus += o.divergedStatus
	m.divergedRows += o.divergedRows
	m.divergedResult += o.divergedResult
	m.checked += o.checked
	m.divergedOther += o.divergedOther
	m.diverging.merge(&o.diverging)
	m.preparedAgain += o.preparedAgain
	m.retries += o.retries
	m.retriedLater += o.retriedLater
	m.retry.merge(o.retry)
	m.orderReleased += o.orderReleased
	m.order.merge(o.order)
	m.lag.merge(o.lag)
	m.late.merge(o.late)
	m.busy.merge(o.busy)
	m.service.merge(o.service)
}
