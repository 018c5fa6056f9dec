package replay

import (
	"slices"

	"github.com/retrace-db/retrace/internal/fingerprint"
	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

// retriable are the errors after which a client is expected to run its
// transaction again.
var retriable = map[string]bool{
	"40001": true, // serialization failure
	"40P01": true, // deadlock
}

// What is kept of a transaction to send it again.
const (
	maxKept       = 1 << 20 // bytes
	maxKeptEvents = 4096
)

// Reasons for not sending a transaction again.
const (
	onceCopy      = "copy"      // its data are not kept
	onceLarge     = "too_large" // nor are more than maxKept
	oncePipelined = "pipelined" // sent without waiting, so that a part of it may be committed
	onceCommits   = "commits"   // it may commit a part of itself
	oncePrepares  = "prepares"  // it prepares by SQL, which no rollback takes back
)

// attempt is the transaction under way, as long as it may have to be sent again.
// Its events have no outcome until it is over: then it is that of the last time.
type attempt struct {
	on       bool
	once     string // why it cannot be sent again, if so
	failed   bool   // it is to be sent again
	again    bool   // it is being sent again
	tries    int    // so far, beyond the first
	first    uint64 // ordinal of its first event
	began    int64
	requests []kept
	bytes    int
	events   int
	ends     bool // what it holds ends a transaction
}

// kept is a request of a transaction.
type kept struct {
	batch []staged
	out   []byte
	due   int64
}

// holds tells whether an event waits for the end of its transaction.
func (a *attempt) holds(ordinal uint64) bool { return a.on && a.once == "" && ordinal >= a.first }

// idle tells whether no transaction is under way.
func (s *session) idle() bool {
	state := s.talk.TransactionState()
	return s.pending() == nil && !s.unsynced && (state == 'I' || state == 0)
}

// keep keeps the request that is about to be sent.
func (s *session) keep(due int64) {
	if s.p.retries == 0 {
		return
	}
	a := &s.attempt
	if s.idle() {
		s.conclude()
		*a = attempt{on: true, first: s.batch[0].ordinal, began: s.p.clock.Now()}
	}
	if !a.on || a.once != "" {
		return
	}
	if a.once = s.obstacle(); a.once != "" {
		a.requests = nil
		s.settle(false)
		return
	}
	a.requests = append(a.requests, kept{slices.Clone(s.batch), slices.Clone(s.out), due})
	a.bytes += len(s.out)
	a.events += len(s.batch)
}

// obstacle is why the transaction cannot be sent again with this request, if so.
func (s *session) obstacle() string {
	a := &s.attempt
	switch {
	case a.bytes+len(s.out) > maxKept || a.events+len(s.batch) > maxKeptEvents:
		return onceLarge
	case a.ends, s.pending() != nil && s.talk.TransactionState() != 'T':
		return oncePipelined
	}
	for i := range s.batch {
		b := &s.batch[i]
		if b.op == trace.OpCopy {
			return onceCopy
		}
		if !b.op.Statement() {
			continue
		}
		sql := b.entry.SQL()
		switch first, _ := keyword(sql); first {
		case "CALL", "DO":
			return onceCommits
		case "PREPARE", "DEALLOCATE", "DISCARD":
			return oncePrepares
		}
		if multiple(sql) && slices.ContainsFunc(fingerprint.Verbs(sql), filter.Structural) {
			return onceCommits
		}
		first, rest := keyword(sql)
		second, _ := keyword(rest)
		a.ends = a.ends || endsTransaction(sql) && !(first == "ROLLBACK" && second == "TO")
	}
	return ""
}

// failure takes an error: the transaction is to be sent again if that helps, and
// if the recorded one had not failed as well.
func (s *session) failure(f *flight) {
	a := &s.attempt
	if !a.on || f.status != trace.Error || !retriable[f.reason] || f.replied && f.was == trace.Error {
		return
	}
	if a.once != "" {
		s.p.account.notRetried(s.id, a.once)
		return
	}
	a.failed = true
}

// conclude gives the events of a transaction that is over their outcome.
func (s *session) conclude() {
	a := &s.attempt
	if !a.on || a.failed || a.again {
		return
	}
	if a.tries > 0 {
		s.p.account.retried(s.id, s.p.clock.Now()-a.began)
	}
	*a = attempt{}
	s.settle(false)
}

// tryAgain sends the transaction again if it failed, as often as is allowed.
func (s *session) tryAgain() {
	a := &s.attempt
	if !a.failed || a.again {
		return
	}
	batch, out := s.batch, s.out
	a.again = true
	for a.failed && s.mayTry() {
		s.rewind()
		s.resend()
	}
	a.again, a.failed = false, false
	s.batch, s.out = batch, out
	if s.dead == "" && s.idle() {
		s.conclude()
	}
}

// mayTry counts another attempt, unless the transaction has had all.
func (s *session) mayTry() bool {
	a := &s.attempt
	if s.dead != "" || s.p.phase() != running {
		return false
	}
	if a.tries == s.p.retries {
		s.p.account.notRetried(s.id, "attempts")
		return false
	}
	a.tries++
	s.p.account.retry(s.id)
	return true
}

// rewind takes back what the failed attempt did: its transaction, and statements
// that it prepared.
func (s *session) rewind() {
	a := &s.attempt
	a.failed = false
	s.landed()
	if s.dead == "" && s.unsynced {
		s.unsynced, s.unflushed = false, noOrdinal
		s.own(syncMessage)
	}
	if state := s.talk.TransactionState(); s.dead == "" && (state == 'T' || state == 'E') {
		s.own(rollbackMessage)
	}
	var closes []byte
	for i := range a.requests {
		for b := a.requests[i].out; ; {
			kind, body, rest, ok := nextMessage(b)
			if !ok {
				break
			}
			if name, _ := word(body); kind == 'P' && len(name) > 0 {
				closes = append(closes, closeMessage(name)...)
			}
			b = rest
		}
	}
	if len(closes) > 0 && s.dead == "" {
		s.own(append(closes, syncMessage...))
	}
}

// resend sends the kept requests, each after the replies to the one before. The
// time they are late by is the target's.
func (s *session) resend() {
	for i := range s.attempt.requests {
		if s.dead != "" || s.p.phase() != running || s.attempt.failed {
			return
		}
		r := &s.attempt.requests[i]
		s.batch, s.out = append(s.batch[:0:0], r.batch...), append([]byte(nil), r.out...)
		s.free = s.p.clock.Now()
		s.decide()
		s.send(r.due)
		s.landed()
	}
}

// reboard is the flight of an event that is sent again.
func (s *session) reboard(ordinal uint64) *flight {
	f := s.ring.find(ordinal, 0)
	if f == nil {
		return nil
	}
	s.ring.pendingFrom = 0
	f.free, f.done = s.free, false
	f.status, f.reason, f.took, f.tail, f.rows, f.results, f.bytes, f.after = trace.OK, "", 0, 0, 0, 0, 0, 0
	f.parse = nil
	return f
}

// recordedState is the recorded transaction state before an event: that of events
// that wait for the end of their transaction is not counted yet.
func (s *session) recordedState(before uint64) byte {
	if s.attempt.on {
		for i := s.ring.n - 1; i >= 0; i-- {
			if f := s.ring.at(i); f.ordinal < before && f.replied && f.state != 0 {
				return f.state
			}
		}
	}
	return s.was
}
