package replay

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

const (
	// prefetch is how many bytes of records the reader keeps ahead, as long as
	// no session is short of them.
	prefetch = 2 << 20
	// memory is shared by the queues before they use the spill file, where
	// that gives each more than sessionMemory.
	memory = 4 << 20
	// maxWaiting is how many sessions may be read that must not begin yet. A
	// reader that looks for the next event of a session far ahead would
	// otherwise hold every session in between.
	maxWaiting = 4096
	// crawl is how often it reads a block nevertheless: what it looks for may
	// be what the sessions that run are blocked by.
	crawl = 100 * time.Millisecond
)

// source goes through the trace once and feeds the sessions. It reads no
// further than they need, which is for the pace to say.
type source struct {
	p       *player
	feed    *feed
	batch   trace.Batch
	pending bool // batch is read and not taken
	atEnd   bool
	merge   *merge // nil where each session's own order will do

	live      map[uint64]*session
	states    map[uint64]*trace.State // of sessions with no event yet
	entries   *entries
	known     map[*trace.Entry]*knowledge
	selection selection
	perils    map[string]uint64 // dangerous statements, by what they would do
	shots     map[uint64][]shot // cancel requests of the block being taken, by target

	first    int64 // earliest start of the first block
	horizon  int64 // latest start read
	lastEnd  int64 // latest end of a reply read
	previous int64 // the same, before the last block

	total       counts
	sessions    uint64
	gaps        uint64
	missing     uint64 // events that the gaps name
	leftOut     uint64 // events that the recording left out on purpose
	unportable  uint64 // statements with parameter types that other databases number otherwise
	unknownFrom uint64 // sessions without a recorded beginning

	prefetch int64
	wants    wants        // of pace think
	hungry   atomic.Int64 // sessions waiting for records
	queued   atomic.Int64 // bytes in all queues
	wake     chan struct{}

	scratch [chunkSize]byte
	encoded []byte
	joined  []byte
}

func newSource(p *player, in *feed) *source {
	return &source{
		p: p, feed: in, prefetch: prefetch, live: map[uint64]*session{}, states: map[uint64]*trace.State{}, entries: newEntries(),
		known: map[*trace.Entry]*knowledge{}, selection: p.selection, perils: map[string]uint64{}, shots: map[uint64][]shot{}, horizon: math.MinInt64, previous: math.MinInt64, wake: make(chan struct{}, 1),
	}
}

// prime reads up to the first events, so that the states of sessions that were
// open when the recording began are known, and the time it began at.
func (src *source) prime() error {
	for {
		if err := src.read(); err != nil {
			return err
		}
		if src.atEnd {
			return nil
		}
		if len(src.batch.Events) > 0 {
			src.first = src.batch.Events[0].Start
			for i := range src.batch.Events {
				src.first = min(src.first, src.batch.Events[i].Start)
			}
			return nil
		}
		if err := src.take(); err != nil {
			return err
		}
	}
}

// run reads and feeds until the end of the trace, or until the replay is
// interrupted.
func (src *source) run() {
	for src.p.phase() != interrupted {
		if src.pending {
			if err := src.take(); err != nil {
				src.p.fail(err)
				break
			}
			continue
		}
		if src.atEnd {
			break
		}
		if wait := src.idle(); wait > 0 {
			src.sleep(wait)
			continue
		}
		if err := src.read(); err != nil {
			src.p.fail(fmt.Errorf("read the trace: %w", err))
			break
		}
	}
	src.finish()
}

// finish tells the sessions that nothing will follow.
func (src *source) finish() {
	if err := src.closeAll(); err != nil {
		src.p.fail(err)
	}
	src.feed.close()
	if src.p.gate != nil {
		src.p.gate.pass(math.MaxInt64)
	}
	if src.p.order != nil {
		src.p.order.pass(math.MaxInt64)
	}
}

func (src *source) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-src.wake:
	case <-timer.C:
	}
}

// notify ends a sleep.
func (src *source) notify() {
	select {
	case src.wake <- struct{}{}:
	default:
	}
}

// idle is how long there is no need to read: 0 means now.
func (src *source) idle() time.Duration {
	if src.p.phase() == expired { // the rest is read through, to be counted
		return src.unless(src.queued.Load() < src.prefetch || src.hungry.Load() > 0)
	}
	if o := src.p.order; o != nil {
		switch hungry, full := o.appetite(); {
		case full:
			return crawl
		case hungry:
			return 0
		}
	}
	return src.p.pace.rest(src)
}

func (src *source) unless(now bool) time.Duration {
	if now {
		return 0
	}
	return time.Hour // or until notified
}

// limit is how much of a session's queue stays in memory.
func (src *source) limit() int {
	return max(sessionMemory, memory/max(len(src.live), 1))
}

// take hands a block to the sessions.
func (src *source) take() error {
	b := &src.batch
	src.pending = false
	for i := range b.States {
		if err := src.state(&b.States[i]); err != nil {
			return err
		}
	}
	for i := range b.Gaps {
		if g := &b.Gaps[i]; g.LeftOut {
			src.leftOut += g.Events()
		} else {
			src.gaps++
			src.missing += g.Events()
		}
	}
	for i := range b.Late {
		if err := src.late(&b.Late[i]); err != nil {
			return err
		}
	}
	if len(b.Events) == 0 {
		return nil
	}
	return src.events(b.Events)
}

func (src *source) state(s *trace.State) error {
	undeclareState(s)
	if live := src.live[s.Session]; live != nil {
		return src.jumped(live, s)
	}
	own := *s
	src.states[s.Session] = &own
	return nil
}

func (src *source) late(l *trace.Late) error {
	s := src.live[l.Session]
	if s == nil {
		return nil
	}
	end := s.waits.answered(l.Ordinal, l.Took)
	s.lastEnd = max(s.lastEnd, end)
	src.lastEnd = max(src.lastEnd, end)
	s.tail.Store(max(s.lastStart, s.lastEnd))
	r := &record{kind: kindLate, ordinal: l.Ordinal}
	r.replied(&l.Reply)
	src.ends(s, r, end)
	at := moment{end: s.lastEnd}
	if s.unanswered > 0 {
		at.running = s.runs(-1)
	}
	if err := src.push(s, r, at); err != nil {
		return err
	}
	return src.resumes(s, r, s.unanswered)
}

func (src *source) events(all []trace.Event) error {
	src.previous = src.horizon
	// A cancel request aims at an event that was in flight then, so at one
	// read before it: it goes into the queue before what follows.
	earliest := all[0].Start
	for i := range all {
		earliest = min(earliest, all[i].Start)
		src.horizon = max(src.horizon, all[i].Start)
		if all[i].Entry.Op == trace.OpCancel {
			src.note(&all[i])
		}
	}
	if err := src.earlier(); err != nil {
		return err
	}
	for i := range all {
		if all[i].Entry.Op == trace.OpCancel {
			continue
		}
		if err := src.event(&all[i]); err != nil {
			return err
		}
	}
	if src.p.gate != nil {
		src.p.gate.pass(addClamped(src.previous, -endSlack)) // an end in the next block may count as that much earlier
	}
	if src.p.order != nil {
		src.p.order.pass(min(src.previous, addClamped(earliest, -1)))
	}
	src.unaimed()
	if src.merge != nil { // blocks come in the order of their first events
		return src.merge.pass(earliest, src.deliver)
	}
	return nil
}

// event queues one event.
func (src *source) event(e *trace.Event) error {
	op := e.Entry.Op
	s := src.session(e)
	src.total.captured(op)
	s.captured.captured(op)
	r := src.record(e, s.waits.before(e.Start))
	src.omit(s, e, r)
	s.endless(e, r)
	omitted := r.end.omits()
	at := moment{op: op, first: !s.midRequest && !omitted, start: e.Start, end: e.Start, pause: s.pause(e.Start)}
	if e.HasReply {
		at.end = e.End()
	}
	switch {
	case op == trace.OpEnd:
		at.running = s.runs(-s.unanswered)
	case !e.HasReply:
		at.running = s.runs(1)
	}
	s.lastStart, s.midRequest = e.Start, !e.RequestEnd && (s.midRequest || !omitted)
	s.tail.Store(max(s.lastEnd, at.end))
	src.begins(s, e, r)
	if unplayable(s.state) && op != trace.OpEnd && !omitted {
		r.flags, r.end, r.bytes = r.flags|flagSkip, skipNotReplayable, nil
	}
	if err := src.push(s, r, at); err != nil {
		return err
	}
	if err := src.aimed(s, e.Ordinal); err != nil {
		return err
	}
	if err := src.resumes(s, r, 0); err != nil {
		return err
	}
	s.lastRead = e.Ordinal
	if op != trace.OpCopy || !e.HasReply || e.Took > 0 { // COPY data are not answered
		s.waits.add(awaited{ordinal: e.Ordinal, start: e.Start, end: e.End(), known: e.HasReply && e.Status != trace.Lost})
	}
	if e.HasReply && op != trace.OpEnd {
		s.lastEnd = max(s.lastEnd, e.End())
		src.lastEnd = max(src.lastEnd, s.lastEnd)
	}
	if op == trace.OpEnd {
		src.sessionEnds(s, e.Start)
	}
	return nil
}

// record is what the player needs of an event.
func (src *source) record(e *trace.Event, settled uint64) *record {
	r := &record{kind: kindEvent, op: e.Entry.Op, ordinal: e.Ordinal, start: e.Start, settled: settled, shape: src.ref(e.Entry)}
	if e.RequestEnd {
		r.flags |= flagRequestEnd
	}
	if e.HasReply {
		r.replied(&e.Reply)
	}
	src.bytes(r, e)
	if e.Entry.Op.Statement() && src.know(e.Entry).foreign {
		src.unportable++
	}
	return r
}

// bytes puts the event together again, or says why that cannot be sent.
func (src *source) bytes(r *record, e *trace.Event) {
	switch {
	case e.Entry.Op == trace.OpConnect:
	case e.Entry.Op == trace.OpEnd && len(e.Entry.Shape) == 0:
		r.end = endServer
		if e.Reason == endClient.String() {
			r.end = endClient
		}
	case e.OverLimit:
		r.flags, r.end = r.flags|flagSkip, skipOverLimit
	case e.Entry.Op == trace.OpFunction, e.Entry.Op == trace.OpOther:
		r.flags, r.end = r.flags|flagSkip, skipNotReplayable
	default:
		var err error
		src.joined, err = pg.Join(src.joined[:0], e.Entry.Shape, e.Sizes, e.Values)
		if err == nil {
			r.bytes = src.joined
			if src.know(e.Entry).foreign {
				undeclare(r.bytes)
			}
			return
		}
		r.flags, r.end = r.flags|flagSkip, skipUnreadable
		for _, n := range e.Sizes {
			if n == trace.SizeRedacted {
				r.end = skipRedacted
			}
		}
	}
}

// ref numbers an entry, and lets go of entries that no session needs any more.
func (src *source) ref(e *trace.Entry) entryRef {
	ref, begun := src.entries.ref(e)
	if begun {
		src.entries.forget(src.p.oldestEpoch(ref.epoch))
	}
	return ref
}

// push gives a session a record, now or in its turn.
func (src *source) push(s *session, r *record, at moment) error {
	if src.merge != nil {
		src.encoded = r.encode(src.encoded[:0])
		epoch := src.entries.epoch
		if r.kind != kindLate && r.kind != kindRestore {
			epoch = r.shape.epoch
		}
		src.merge.add(s, at, src.encoded, epoch)
		return nil
	}
	r.when = src.p.pace.stamp(&at)
	src.encoded = r.encode(src.encoded[:0])
	return s.queue.push(src.encoded, src.limit(), &src.scratch)
}

// deliver queues a record whose turn it is.
func (src *source) deliver(h *held, record []byte) error {
	if len(record) == 0 {
		h.s.queue.close()
		return nil
	}
	stampRecord(record, src.p.pace.stamp(&h.moment))
	return h.s.queue.push(record, src.limit(), &src.scratch)
}
