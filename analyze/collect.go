package analyze

import (
	"math"

	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

// collector turns the events of one run into figures. Each session's events
// must come in order; how sessions interleave does not matter.
type collector struct {
	run      int
	index    *index
	total    figures
	series   series // of all that is counted
	facts    facts
	origin   int64 // tick of the first event that came
	keeping  *keeping
	sessions map[uint64]*session
	last     *session // of the event before: blocks hold a session's events together
	lastID   uint64
	free     []*session

	// With a filter, or a warm-up, only some statements are counted. All others go
	// through as well: they are what these had to wait for.
	where     *filter.Filter
	all       *index       // finds the statement of a fetch, counted or not
	service   distribution // of all
	unmatched uint64
	warmup    warmup
	partial   bool // there is a filter, or a warm-up
}

// facts are what a run is beyond its statements.
type facts struct {
	events   uint64
	requests uint64
	sessions uint64
	ops      [256]uint64 // events by op
	first    int64
	until    int64
	late     distribution // sent − when it was due and the session free
	busy     distribution // when the session was free − when it was due
}

// session is what has to be known of a session's past.
type session struct {
	name    uint64 // hash of its id
	end     int64  // latest end of a reply so far
	within  bool   // the event before was not the end of its request
	cursors []cursor
}

// cursor is a statement whose portal is suspended: fetches may add to it.
type cursor struct {
	same   *row // by which a fetch finds it
	row    *row // nil if it is not counted
	timing timing
}

// maxCursors bounds the suspended statements of a session. The oldest one is
// taken for complete when there are more.
const maxCursors = 64

func newCollector(x *index, run int, o Options) *collector {
	c := &collector{run: run, index: x, all: x, sessions: map[uint64]*session{}, where: o.Where}
	c.total.service, c.total.response, c.facts.late, c.facts.busy = dense(), dense(), dense(), dense()
	if !o.Alone {
		c.keeping = &keeping{each: keepEach, all: keepAll}
	}
	c.warmup = warmup{length: int64(o.SkipStart), first: func() (int64, bool) { return c.facts.first, true }}
	if c.partial = o.Where != nil || o.SkipStart > 0; c.partial {
		c.all, c.service = newIndex(x.max), dense()
	}
	return c
}

// event takes the next event, and whose it is if that is known. It allocates
// nothing in the steady state.
func (c *collector) event(e *trace.Event, of *trace.State) {
	s := c.session(e.Session)
	c.span(e)
	c.facts.events++
	c.facts.ops[e.Entry.Op]++
	if e.RequestEnd {
		c.facts.requests++
	}
	t, early := c.measure(s, e), c.warmup.has(e)
	switch op := e.Entry.Op; {
	case op.Statement():
		matches := c.where.Match(e, of)
		if matches && early {
			c.warmup.left++
		} else if !matches {
			c.unmatched++
		}
		c.statement(s, e, t, matches && !early)
	case op == trace.OpFetch:
		c.fetch(s, e, t, !early && c.where.Match(e, of))
	case op == trace.OpEnd, op == trace.OpCancel:
		c.ended(s, e.Session)
		return
	}
	if e.State == 'I' && len(s.cursors) > 0 { // portals end with the transaction
		c.complete(s, len(s.cursors))
	}
}

func (c *collector) session(id uint64) *session {
	if c.last != nil && c.lastID == id {
		return c.last
	}
	s, ok := c.sessions[id]
	if !ok {
		s = c.fresh()
		s.name = mix(id)
		c.sessions[id] = s
		c.facts.sessions++
	}
	c.last, c.lastID = s, id
	return s
}

func (c *collector) fresh() *session {
	if n := len(c.free); n > 0 {
		s := c.free[n-1]
		c.free = c.free[:n-1]
		return s
	}
	return &session{}
}

func (c *collector) span(e *trace.Event) {
	if c.facts.events == 0 {
		c.origin = e.Start / keepTick
	}
	if c.facts.events == 0 || e.Start < c.facts.first {
		c.facts.first = e.Start
	}
	c.facts.until = max(c.facts.until, e.Start)
	if e.HasReply {
		c.facts.until = max(c.facts.until, e.End())
	}
}

// measure takes the times of an event. Service begins when it was sent or, in
// a pipeline, when the server was done with what came before.
func (c *collector) measure(s *session, e *trace.Event) timing {
	if e.HasDue && !s.within && s.end <= e.Start {
		c.facts.late.record(e.Start - max(e.Due, s.end))
		c.facts.busy.record(max(s.end-e.Due, 0))
	}
	s.within = !e.RequestEnd
	if !e.HasReply {
		return timing{}
	}
	end := e.End()
	t := timing{service: end - max(e.Start, s.end), response: end - e.Due, due: e.HasDue}
	if answered(e) {
		s.end = max(s.end, end)
	}
	return t
}

// answered: the server has been there, whatever it said.
func answered(e *trace.Event) bool {
	return e.HasReply && (e.Status == trace.OK || e.Status == trace.Error || e.Status == trace.Skipped)
}

func (c *collector) statement(s *session, e *trace.Event, t timing, counted bool) {
	var r *row
	if counted {
		r = c.index.find(e.Entry)
		c.count(r, e)
	}
	if status, _ := outcomeOf(e); status != trace.OK {
		return
	}
	t.start, t.session, t.ordinal = e.Start, e.Session, e.Ordinal
	t.key, t.diverged = mix(s.name+e.Ordinal), e.Diverged != 0
	if e.Entry.Op == trace.OpExecute && e.Results == 0 { // suspended
		if len(s.cursors) == maxCursors {
			c.complete(s, 1)
		}
		s.cursors = append(s.cursors, cursor{c.all.find(e.Entry), r, t})
		return
	}
	c.time(r, t)
}

// count adds a statement to its row and to the total.
func (c *collector) count(r *row, e *trace.Event) {
	status, reason := outcomeOf(e)
	if status == trace.Error {
		c.series.at(e.Start).failed++
	}
	for _, f := range [...]*figures{&c.total, r.in(c.run)} {
		f.count++
		f.outcome(status, reason)
		f.reply(e)
		f.divergence(e.Diverged)
	}
}

func outcomeOf(e *trace.Event) (trace.Status, string) {
	if !e.HasReply && e.Status == trace.OK { // the trace ends before the answer
		return trace.Lost, "no_reply"
	}
	return e.Status, e.Reason
}

// time adds the time of a statement; r is nil if it is not counted.
func (c *collector) time(r *row, t timing) {
	if c.partial {
		c.service.record(t.service)
	}
	if r == nil {
		return
	}
	c.total.time(t)
	c.series.at(t.start).record(t.service)
	f := r.in(c.run)
	f.time(t)
	f.worst.add(&t)
	if c.keeping == nil || t.diverged {
		return
	}
	at := min(max(t.start/keepTick-c.origin, math.MinInt32), math.MaxInt32)
	if f.sketch.add(c.keeping, sample{t.key, int32(at), float32(t.service)}) {
		c.keeping.halve(c.sketches())
	}
}

func (c *collector) sketches() []*sketch {
	var all []*sketch
	for _, row := range c.index.all() {
		all = append(all, &row.in(c.run).sketch)
	}
	return all
}

// fetch adds to the statement whose portal it continues: its time is the time
// of its parts, without the client's pauses between them; its outcome is that
// of the last. A fetch of a statement that began before the trace adds its
// rows only.
func (c *collector) fetch(s *session, e *trace.Event, t timing, counted bool) {
	same := c.all.find(e.Entry)
	i := len(s.cursors) - 1
	for i >= 0 && s.cursors[i].same != same {
		i--
	}
	if i < 0 {
		if counted {
			c.countFetch(c.index.find(e.Entry), e, false)
		}
		return
	}
	open := &s.cursors[i]
	if open.row != nil {
		c.countFetch(open.row, e, true)
	}
	t.diverged = e.Diverged != 0
	open.timing.add(t)
	status, _ := outcomeOf(e)
	if status == trace.OK && e.Results == 0 {
		return // there is more to fetch
	}
	if status == trace.OK {
		c.time(open.row, open.timing)
	}
	s.cursors = append(s.cursors[:i], s.cursors[i+1:]...)
}

// countFetch adds a fetch to the row of its statement, and its outcome if the
// statement was counted as one that went well.
func (c *collector) countFetch(r *row, e *trace.Event, counted bool) {
	status, reason := outcomeOf(e)
	if counted && status == trace.Error {
		c.series.at(e.Start).failed++
	}
	for _, f := range [...]*figures{&c.total, r.in(c.run)} {
		f.fetches++
		f.reply(e)
		if counted && status != trace.OK {
			f.ok--
			f.outcome(status, reason)
		}
	}
}

// complete takes the oldest n suspended statements for complete.
func (c *collector) complete(s *session, n int) {
	for _, open := range s.cursors[:n] {
		c.time(open.row, open.timing)
	}
	s.cursors = append(s.cursors[:0], s.cursors[n:]...)
}

func (c *collector) ended(s *session, id uint64) {
	c.complete(s, len(s.cursors))
	delete(c.sessions, id)
	*s = session{cursors: s.cursors[:0]}
	c.free = append(c.free, s)
	c.last = nil
}

// finish is called after the last event.
func (c *collector) finish() {
	for id, s := range c.sessions {
		c.ended(s, id)
	}
	for _, s := range c.sketches() {
		if c.keeping != nil {
			s.finish(c.keeping.each)
		}
	}
}
