package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// copier writes into one trace what a reader gives.
type copier struct {
	reader  *Reader
	w       *Writer
	options JoinOptions
	joins   bool  // several traces: the header is none of theirs
	part    *Part // of the input; what came before its states does not count
	redact  *RedactOptions
	head    *Header // of the last segment that was begun

	segments map[string]*Header // being read, by trace
	opening  *Header            // a segment of which only states were read so far
	states   []State            // these
	anchor   int64              // when that segment began

	live     *sessions // at their states; nil if nobody can follow them
	sessions map[uint64]*followed
	passed   map[uint64]bool // live sessions that are not asked for
	holes    holes
	damage   []Damage // what the reader could not know
	count    uint64
	lost     Totals
}

// followed is a live session.
type followed struct {
	trace string
	next  uint64
}

func (c *copier) run() error {
	var b Batch
	for {
		err := c.reader.Next(&b)
		if errors.Is(err, io.EOF) {
			return c.open()
		}
		if err == nil {
			err = c.take(&b)
		}
		if err == nil && c.options.Tick != nil {
			err = c.options.Tick(c.count)
		}
		if err != nil {
			return err
		}
	}
}

func (c *copier) take(b *Batch) error {
	if c.segments[b.Header.Trace] != b.Header {
		if err := c.begin(b.Header); err != nil {
			return err
		}
	}
	if c.opening == b.Header && len(b.States) > 0 {
		c.states = append(c.states, b.States...)
		return nil
	}
	if err := c.open(); err != nil {
		return err
	}
	for i := range b.States {
		if err := c.state(&b.States[i], b.Header); err != nil {
			return err
		}
	}
	for i := range b.Gaps {
		if c.passed[b.Gaps[i].Session] {
			continue
		}
		c.holes.explain(&b.Gaps[i])
		if c.live != nil {
			c.live.gap(&b.Gaps[i])
		}
		if err := c.w.Gap(b.Gaps[i]); err != nil {
			return err
		}
	}
	for i := range b.Late {
		if err := c.late(&b.Late[i]); err != nil {
			return err
		}
	}
	for i := range b.Events {
		if err := c.event(&b.Events[i], b.Header); err != nil {
			return err
		}
	}
	return c.room()
}

// begin takes the first block of a segment of the input.
func (c *copier) begin(h *Header) error {
	if err := c.open(); err != nil {
		return err
	}
	switch known := len(c.segments) == 0 || c.segments[h.Trace] != nil || c.joins; {
	case !known:
		return fmt.Errorf("a pipe holds traces %s and %s: %w", c.head.Trace, h.Trace, errJoinedPipe)
	case h.TickNS%c.w.tick != 0:
		return fmt.Errorf("a segment of trace %s has ticks of %d ns, another of %d: %w", h.Trace, h.TickNS, c.w.tick, errJoinedPipe)
	}
	c.segments[h.Trace], c.opening, c.anchor = h, h, startedAt(h)
	return nil
}

// now are the states of the live sessions, for the segments and checkpoints of
// the result. Where a segment of the input begins, its own come instead.
func (c *copier) now() []State {
	if c.opening != nil {
		return nil
	}
	all := c.live.states()
	for _, f := range c.live.live { // and of those whose first event is still to come
		if !f.known && f.later != nil {
			all = append(all, *f.later)
		}
	}
	slices.SortFunc(all, func(a, b State) int { return cmp.Compare(a.Session, b.Session) })
	for i := range all {
		all[i] = c.redacted(all[i])
	}
	return all
}

// open writes the states that a segment of the input begins with, at the start
// of a segment if that is possible and worth while.
func (c *copier) open() error {
	h := c.opening
	if h == nil {
		return nil
	}
	fresh := c.w.seg.index.count == 0 && len(c.w.open.rows) == 0
	if !fresh && !c.beside(h) && (c.large() || !c.joins && !sameStart(c.head, h)) {
		if err := c.w.NewSegment(func(w *Header) { c.amend(w, h) }); err != nil {
			return err
		}
		fresh = true
	}
	if c.live != nil && !c.joins && h.PausedFrom != "" { // who was not begun again is not recorded
		c.live = newSessions(c.reader.follower)
	}
	c.opening, c.head = nil, h
	for i := range c.states {
		if err := c.state(&c.states[i], h); err != nil {
			return err
		}
	}
	c.states = c.states[:0]
	if fresh {
		return c.w.sealStates(kindState)
	}
	return nil
}

// amend makes the header of a new segment that of the input's, where there is one.
func (c *copier) amend(w, h *Header) {
	if c.joins {
		return
	}
	id, segment, columns := w.Trace, w.Segment, w.Columns
	*w = *h
	w.Segment, w.Columns = segment, columns
	if c.part != nil {
		w.Trace, w.Cut = id, c.part
	}
	if c.redact != nil {
		w.Trace, w.Redaction = id, c.redact.header
	}
}

// beside tells whether another trace is being read: the states of its sessions
// are not known here.
func (c *copier) beside(h *Header) bool {
	for _, s := range c.reader.sources {
		if s.seg != nil && s.seg.header.Trace != h.Trace {
			return true
		}
	}
	return false
}

// large tells whether the segment has so much that the next one of the input
// may not fit into it as well.
func (c *copier) large() bool {
	d := c.w.dict
	return c.w.steady && (len(d.entries) >= rollEntries/2 || d.size >= rollBytes/8 || c.w.seg.index.count >= c.w.maxBlocks/2)
}

// room refuses to go on where a segment would become more than readers take.
func (c *copier) room() error {
	if c.w.steady && (len(c.w.dict.entries) > maxEntries-maxCount || c.w.seg.index.count > c.w.maxBlocks) {
		return fmt.Errorf("traces that were recorded side by side hold more than one segment can take (%d dictionary entries, %d blocks): join fewer, or read them side by side: every verb takes several files",
			len(c.w.dict.entries), c.w.seg.index.count)
	}
	return nil
}

// sameStart tells whether a segment says of itself what the one before it said.
func sameStart(a, b *Header) bool {
	x, y := *a, *b
	for _, h := range []*Header{&x, &y} {
		h.Segment, h.Continues, h.Started, h.Columns = 0, false, "", nil
	}
	one, err := x.MarshalJSON()
	other, err2 := y.MarshalJSON()
	return err == nil && err2 == nil && string(one) == string(other)
}

func (c *copier) session(id uint64, h *Header) (s *followed, fresh bool, err error) {
	s = c.sessions[id]
	if s == nil {
		s, fresh = &followed{trace: h.Trace}, true
		c.sessions[id] = s
	}
	if s.trace != h.Trace {
		return nil, false, fmt.Errorf("session %d is in trace %s and in trace %s: one of them was made of the other", id, s.trace, h.Trace)
	}
	return s, fresh, nil
}

// passes tells whether a session is not asked for. s is its state, nil where
// that is not known.
func (c *copier) passes(id uint64, s *State) bool {
	if c.options.keep == nil || c.sessions[id] != nil {
		return false
	}
	pass, known := c.passed[id]
	if !known {
		pass = !c.options.keep(id, s)
		if pass {
			c.passed[id] = true
		}
	}
	return pass
}

func (c *copier) state(s *State, h *Header) error {
	if c.passes(s.Session, s) {
		return nil
	}
	live, fresh, err := c.session(s.Session, h)
	if err != nil {
		return err
	}
	if fresh {
		live.next = s.Ordinal
	}
	if c.live != nil {
		c.live.state(s)
	}
	if w := c.w.lookup(s.Session); w != nil && w.head >= 0 { // it is not of before what is held
		if err := c.w.Flush(); err != nil {
			return err
		}
	}
	shown := c.redacted(*s)
	return c.w.State(&shown)
}

func (c *copier) event(e *Event, h *Header) error {
	if c.passes(e.Session, nil) {
		if op := e.Entry.Op; op == OpEnd || op == OpCancel {
			delete(c.passed, e.Session)
		}
		return nil
	}
	s, fresh, err := c.session(e.Session, h)
	if err != nil {
		return err
	}
	if fresh && c.part != nil {
		s.next = e.Ordinal
	}
	given := *e
	if c.redact != nil {
		c.redact.Event(&given)
	}
	id, err := c.entry(given.Entry)
	if err != nil {
		return err
	}
	if c.live != nil {
		c.live.event(e)
	}
	given.Shape = id
	if err := c.w.Event(&given); err != nil {
		return c.refused(err)
	}
	c.count++
	if e.Ordinal > s.next {
		c.holes.pass(jump{e.Session, s.next, e.Ordinal - 1}, e.Start)
	}
	s.next = e.Ordinal + 1
	if op := e.Entry.Op; op == OpEnd || op == OpCancel {
		delete(c.sessions, e.Session)
		c.holes.forget(e.Session)
	}
	if len(c.holes.open) > maxLost {
		return c.nameHoles()
	}
	return nil
}

func (c *copier) late(l *Late) error {
	if c.passed[l.Session] {
		return nil
	}
	if c.live != nil {
		c.live.late(l)
	}
	shape := uint32(0)
	if l.Entry != nil {
		id, err := c.entry(l.Entry)
		if err != nil {
			return err
		}
		shape = id + 1
	}
	if err := c.w.Reply(l.Session, l.Ordinal, &l.Reply, shape); err != nil {
		return c.refused(err)
	}
	return nil
}

// refused is for what the format forbids: it is damage and left out, unless it
// is writing that failed.
func (c *copier) refused(err error) error {
	if c.w.failed != nil {
		return err
	}
	if len(c.damage) < maxDamage {
		c.damage = append(c.damage, Damage{File: "trace", What: err.Error()})
	}
	return nil
}

// whyDamaged is the reason in the gaps that stand for what could not be read.
const whyDamaged = "damaged"

// nameHoles writes a gap for each hole that nothing has explained.
func (c *copier) nameHoles() error {
	order := func(a, b jump) int { return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.first, b.first)) }
	for _, j := range slices.SortedFunc(maps.Keys(c.holes.open), order) {
		g := Gap{Session: j.session, First: j.first, Last: j.last, Start: c.holes.open[j], Why: whyDamaged}
		c.lost.gap(&g)
		if err := c.w.Gap(g); err != nil {
			return err
		}
	}
	clear(c.holes.open)
	return nil
}

func (c *copier) finish() error {
	if err := c.nameHoles(); err != nil {
		return err
	}
	return c.w.Close()
}

func (c *copier) result() *Joined {
	j := &Joined{
		Totals: c.w.Totals(), Segments: c.w.Generation(), LostGaps: c.lost.Gaps, LostEvents: c.lost.Missing,
		Damage: append(c.reader.Damage(), c.damage...),
	}
	for _, s := range c.w.sessions {
		j.Unanswered += uint64(len(s.waiting()))
	}
	j.Complete = c.reader.Complete() && len(c.damage) == 0 && j.LostGaps == 0
	return j
}
