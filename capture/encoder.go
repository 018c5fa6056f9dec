package capture

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// encoder turns rows into a trace. It is the only user of its writer and of all
// that sessions have accumulated, and so needs no lock.
type encoder struct {
	recorder *Recorder
	w        *trace.Writer
	file     rotated
	split    pg.Splitter
	live     map[uint64]*life
	messages messages
	touched  []*life // have a held row
	spare    batch
	event    trace.Event
	answer   trace.Reply
	number   [24]byte
	last     written // the event emitted last
	asked    bool    // it may change its session, and has no reply yet
	only     only
	waiting  bool  // recording was never switched on yet
	begins   int64 // when it was, if not from the beginning
	pause    int64 // when it was switched off

	describing []byte // what describe is asked about
	describe   func() (string, []uint32)
	failure
}

type written struct {
	life    *life
	ordinal uint64
	ref     ref
}

func newEncoder(r *Recorder) *encoder {
	e := &encoder{recorder: r, live: map[uint64]*life{}, waiting: r.options.Paused, only: newOnly(r.options.Only)}
	e.describe = func() (text string, types []uint32) {
		text, types = pg.Describe(e.describing)
		e.only.text = text
		return text, types
	}
	return e
}

func (e *encoder) begun() bool { return e.w != nil || e.broken != nil }

// begin opens the trace.
func (e *encoder) begin() error {
	h := e.recorder.options.Header
	if s := e.recorder.server.Load(); s != nil {
		h.EngineVersion = (*s)["server_version"]
		source := trace.Source{}
		if h.Source != nil {
			source = *h.Source
		}
		source.Settings = maps.Clone(*s)
		h.Source = &source
	}
	if e.begins != 0 {
		h.Started = rfc3339(e.begins)
	}
	w, err := trace.NewWriter(e.recorder.options.Out, h, trace.WriterOptions{Checksums: e.recorder.options.Checksums, States: e.states, Now: e.recorder.options.Now})
	e.w, e.file.at = w, e.recorder.options.Now()
	return err
}

// generation is never 0, so that the zero ref is nobody's.
func (e *encoder) generation() int { return e.w.Generation() + 1 }

// states are all live sessions that are recorded and have said who they are, for
// a new segment.
func (e *encoder) states() []trace.State {
	var all []trace.State
	for _, l := range e.live {
		if l.next > 0 && !l.left && !l.over {
			all = append(all, e.stateOf(l))
		}
	}
	slices.SortFunc(all, func(a, b trace.State) int { return cmp.Compare(a.Session, b.Session) })
	return all
}

// stateOf describes a session while an event is being written. If that is one
// of its own, what it did comes with it, or that it is not answered.
func (e *encoder) stateOf(l *life) trace.State {
	r := l.held
	if r == nil || e.last.life != l || e.last.ordinal != r.ordinal {
		return l.state()
	}
	e.learn(l)
	s := l.state()
	if e.asked {
		s.Pending = append(s.Pending, trace.Pending{Ordinal: r.ordinal, Message: r.data})
	}
	return s
}

// learn applies what the event that is being written has changed.
func (e *encoder) learn(l *life) {
	rest := l.late[:0]
	for _, r := range l.late {
		switch r.kind {
		case rowPrepared, rowDeallocated, rowSets:
			e.apply(l, r)
		default:
			rest = append(rest, r)
		}
	}
	clear(l.late[len(rest):])
	l.late = rest
}

// batch writes what one stripe has collected.
func (e *encoder) batch(rows []row) {
	defer e.recovered()
	if !e.begun() && !e.waiting {
		e.check(e.begin())
	}
	for i := range rows {
		e.row(&rows[i])
	}
	for _, l := range e.touched {
		e.release(l)
	}
	clear(e.touched)
	e.touched = e.touched[:0]
	e.last = written{}
}

func (e *encoder) row(r *row) {
	l := r.life
	if l.held != nil && r.kind != rowRequest && r.kind != rowReply {
		l.late = append(l.late, r)
		return
	}
	switch r.kind {
	case rowStarted:
		e.started(l, r)
	case rowRequest:
		e.request(l, r)
	case rowReply:
		e.reply(l, r)
	case rowCancel:
		e.cancel(l, r)
	default:
		e.apply(l, r)
	}
}

// apply takes note of what changes between two events.
func (e *encoder) apply(l *life, r *row) {
	l.changed = l.changed || r.kind == rowPrepared || r.kind == rowDeallocated || r.kind == rowSets
	switch r.kind {
	case rowPrepared:
		e.prepared(l, r)
	case rowDeallocated:
		e.deallocated(l, r)
	case rowSets:
		e.sets(l, r)
	case rowGap:
		e.gap(l, r)
	case rowFault:
		e.faulted(l, r)
	case rowLeft:
		l.left = true
	case rowJoined:
		e.joined(l, r)
	case rowEnded:
		e.ended(l)
	}
}

func (e *encoder) started(l *life, r *row) {
	l.startup, l.begun = r.startup, r.at
	e.live[l.id] = l
	if l.left = r.flags&flagLeftOut != 0; !l.left {
		e.tellState(l)
	}
}

// request holds an event back: nearly always its reply is in the same batch,
// and the two together are cheaper than one after the other.
func (e *encoder) request(l *life, r *row) {
	if l.held != nil {
		e.release(l)
	} else if len(e.touched) == 0 || e.touched[len(e.touched)-1] != l {
		e.touched = append(e.touched, l)
	}
	keep, over := l.policy.request(step{r.ordinal, r.at, r.op, r.flags&flagRequestEnd != 0}, e.level(), whyUnwritable)
	if over {
		e.tell(l)
	}
	if keep {
		l.held = r
		return
	}
	l.next = r.ordinal + 1
}

// release writes the held event without its reply.
func (e *encoder) release(l *life) {
	if l.held == nil {
		return
	}
	e.emit(l, l.held, nil)
	e.settle(l)
}

// settle applies what came after the event that was just written.
func (e *encoder) settle(l *life) {
	l.held = nil
	for _, r := range l.late {
		e.apply(l, r)
	}
	clear(l.late)
	l.late = l.late[:0]
	l.changed = false
}

func (e *encoder) reply(l *life, r *row) {
	if !l.policy.reply(r.ordinal, r.state) {
		e.release(l)
		return
	}
	if l.held != nil && l.held.ordinal == r.ordinal {
		e.emit(l, l.held, r)
		e.settle(l)
		return
	}
	// The reply belongs to an event before the held one, which was sent without
	// waiting for it: the order in which they are written says so.
	e.release(l)
	e.answerLate(l, r)
}

// emit writes an event, with its reply if that is known. An event that the
// writer refuses is a gap of its own.
func (e *encoder) emit(l *life, r, reply *row) {
	l.next = r.ordinal
	if e.broken != nil {
		e.lose(l, r)
	} else if err := e.write(l, r, reply); err != nil {
		if e.check(err); e.broken == nil {
			e.record(trace.Gap{Session: l.id, First: r.ordinal, Last: r.ordinal, Start: r.at, Why: err.Error()})
		}
	}
	l.next = r.ordinal + 1
}

func (e *encoder) write(l *life, r, reply *row) error {
	guess := r.prepare
	if reply != nil {
		guess = reply.prepare // the server's order is the truth
	}
	of, err := e.resolve(l, r.ordinal, guess)
	if err != nil {
		return err
	}
	ev := &e.event
	ev.OverLimit = r.flags&flagOverLimit != 0
	shape, own := e.take(ev, r, of.secret)
	id, err := e.intern(r.op, of, shape, e.describing)
	if err != nil {
		return err
	}
	ev.Session, ev.Ordinal, ev.Start, ev.Shape = l.id, r.ordinal, r.at, id
	ev.RequestEnd = r.flags&flagRequestEnd != 0
	ev.HasReply = reply != nil
	ev.Reply = trace.Reply{}
	if reply != nil {
		fill(&ev.Reply, r.at, reply)
	}
	e.last = written{l, r.ordinal, ref{id, e.generation(), own}}
	if e.only.omits(l, r, id) {
		e.omit(l, r)
		return nil
	}
	e.tellOmitted(l)
	if e.broken != nil {
		e.lose(l, r) // it broke just now
		return nil
	}
	e.asked = reply == nil && r.flags&(flagChanges|flagOverLimit) == flagChanges && !own && !of.secret
	l.over = r.op == pg.OpEnd
	err = e.w.Event(ev)
	if err == nil && reply == nil {
		s := sent{ordinal: r.ordinal, start: r.at, guess: guess, ref: e.last.ref, op: r.op}
		if e.asked {
			s.message = slices.Clone(r.data)
		}
		l.pending.add(s, shape)
	}
	return err
}

// take splits an event's bytes into the event and returns its shape, and
// whether its own SQL may hold a secret. Secrets stay out of the values.
func (e *encoder) take(ev *trace.Event, r *row, secret bool) (shape []byte, own bool) {
	e.describing = r.data
	switch {
	case r.flags&flagOverLimit != 0:
		e.describing = asQuery(r.data)
		return e.note(ev, r.size), e.secret(e.describing)
	case len(r.data) == 0:
		ev.Sizes, ev.Values = nil, nil
		return nil, false
	}
	shape, ev.Sizes, ev.Values = e.split.Split(r.data)
	if own = e.split.Secret(); own || secret {
		shape = e.redact(ev, shape, own, r.size)
	}
	return shape, own
}

// redact takes the values out. Where the SQL itself is the secret and could not
// be split, nothing is left but the note that it was there.
func (e *encoder) redact(ev *trace.Event, shape []byte, own bool, size uint64) []byte {
	if own && len(shape) > 0 && shape[0] != 0 {
		e.describing, ev.OverLimit = nil, true
		return e.note(ev, size)
	}
	for i := range ev.Sizes {
		ev.Sizes[i] = trace.SizeRedacted
	}
	ev.Values = nil
	return shape
}

// note is the shape of an event that was not kept: its text without values, and
// the true length in the place of a value.
func (e *encoder) note(ev *trace.Event, size uint64) []byte {
	text := ""
	if e.describing != nil {
		text, _ = pg.Describe(e.describing)
	}
	ev.Values = strconv.AppendUint(e.number[:0], size, 10)
	ev.Sizes = []uint64{trace.SizeOf(len(ev.Values))}
	return pg.Note(text)
}

// asQuery is a Query message of the text.
func asQuery(text []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(4+len(text)+1))
	return append(append(b, text...), 0)
}

// intern returns the dictionary entry for a shape. The writer may begin a new
// segment meanwhile, which voids the entry of what it executes.
func (e *encoder) intern(op pg.Op, of ref, shape, describing []byte) (uint32, error) {
	e.describing = describing
	var prepare uint32
	if of.generation == e.generation() {
		prepare = of.id + 1
	}
	id, err := e.w.Intern(trace.Op(op), prepare, shape, e.describe)
	if err == nil && e.only.filter != nil {
		e.only.note(id, prepare, trace.Op(op), e.generation())
	}
	return id, err
}

var statuses = [...]trace.Status{pg.OK: trace.OK, pg.Failed: trace.Error, pg.Skipped: trace.Skipped, pg.Lost: trace.Lost}

func fill(a *trace.Reply, start int64, r *row) {
	a.Took, a.Tail = max(r.done-start, 0), max(r.done-r.at, 0)
	a.Rows, a.Results, a.Bytes, a.Checksum = r.rows, r.results, r.size, r.checksum
	a.Status, a.Reason, a.State = statuses[r.outcome], r.reason, r.state
}
