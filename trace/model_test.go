package trace

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A model is what a random stream of calls to a Writer must read back as.
type model struct {
	events   map[uint64][]*modelEvent // by session, in order
	sessions []uint64
	gaps     []Gap
	states   []State
	steps    int
	tick     int64
	rotate   func() (io.Writer, error) // if not nil, the trace goes into several files
}

type modelEvent struct {
	e        Event
	entry    *modelEntry
	late     *modelEntry // what the reply made it
	answered int         // step at which the reply was appended, 0 never
	sent     int
}

type modelEntry struct {
	op      Op
	shape   []byte
	text    string
	types   []uint32
	prepare *modelEntry
	id      uint32
	gen     int
}

var modelShapes = [][]byte{
	{tokenMessage, 'Q', tokenLiteral, 7, 's', 'e', 'l', 'e', 'c', 't', ' ', tokenRaw},
	{tokenMessage, 'B', tokenParam, tokenParam, tokenParam, tokenMessage, 'S'},
	{tokenLiteral, 3, 0xF7, 'R', 'T'},
	{},
}

func modelEntries() []*modelEntry {
	parse := &modelEntry{op: OpPrepare, shape: []byte{tokenMessage, 'P', tokenRaw}, text: "select 0", types: []uint32{23, 1 << 31}}
	entries := []*modelEntry{parse}
	for i, s := range modelShapes {
		entries = append(entries,
			&modelEntry{op: OpQuery, shape: s, text: fmt.Sprint("query ", i)},
			&modelEntry{op: OpExecute, shape: s, prepare: parse},
			&modelEntry{op: OpExecute, shape: s, text: "no prepare"})
	}
	return entries
}

// run drives a Writer through a random stream and keeps the books.
func (m *model) run(t *rapid.T, out io.Writer, trace string) {
	m.events = map[uint64][]*modelEvent{}
	m.tick = rapid.SampledFrom([]int64{1, 1000, 1_000_000}).Draw(t, "tick")
	w, err := NewWriter(out, Header{Trace: trace, Engine: "postgres", TickNS: m.tick, Started: "1970-01-01T00:00:01Z"}, WriterOptions{
		BlockBytes: rapid.IntRange(40, 4000).Draw(t, "block"), States: m.live, Due: true, Diverged: true, Checksums: true,
		Now: func() int64 { return 5e9 },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.every = rapid.SampledFrom([]int64{1, 500, checkpointEvery}).Draw(t, "bytes between checkpoints")
	w.maxBlocks = rapid.SampledFrom([]int{5, 20, maxIndex}).Draw(t, "blocks of a segment")
	d := &modelDriver{t: t, m: m, w: w, entries: modelEntries(), open: map[uint64][]*modelEvent{}, over: map[uint64]bool{}}
	for range rapid.IntRange(0, 150).Draw(t, "steps") {
		d.step()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d.totals()
}

func (m *model) live() []State {
	var states []State
	for _, id := range m.sessions {
		states = append(states, State{Session: id, Ordinal: m.next(id), User: fmt.Sprint("user", id), Database: "db"})
	}
	return states
}

// next is the ordinal after the session's last event.
func (m *model) next(id uint64) uint64 {
	if n := len(m.events[id]); n > 0 {
		return m.events[id][n-1].e.Ordinal + 1
	}
	return 0
}

type modelDriver struct {
	t       *rapid.T
	m       *model
	w       *Writer
	entries []*modelEntry
	open    map[uint64][]*modelEvent // waiting for replies
	over    map[uint64]bool
	now     int64
}

func (d *modelDriver) step() {
	d.m.steps++
	d.now += rapid.SampledFrom([]int64{0, 1, 300, 999, 1000, 70_000, 5_000_000}).Draw(d.t, "dt")
	if d.m.rotate != nil && rapid.IntRange(0, 12).Draw(d.t, "rotate") == 0 {
		d.check(d.w.Rotate(d.m.rotate))
	}
	switch k := rapid.IntRange(0, 20).Draw(d.t, "step"); {
	case k < 9:
		d.event(rapid.Bool().Draw(d.t, "whole"))
	case k < 18:
		d.reply()
	case k == 18:
		d.check(d.w.Flush())
	case k == 19:
		d.gap()
	default:
		id := d.session()
		s := State{
			Session: id, Ordinal: d.m.next(id), Start: d.now, Settings: map[string]string{"a": "b"},
			Statements: []Prepared{{Name: []byte{0xff}, Message: []byte("P\x00")}},
		}
		d.check(d.w.Flush()) // a state stands before what is held, and is not of then
		d.m.states = append(d.m.states, s)
		d.check(d.w.State(&s))
	}
}

func (d *modelDriver) check(err error) {
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *modelDriver) session() uint64 {
	return rapid.SampledFrom([]uint64{1, 2, 64, 1<<63 + 5}).Draw(d.t, "session")
}

func (d *modelDriver) intern(e *modelEntry) uint32 {
	if e.gen != d.w.Generation() {
		var prepare uint32
		if e.prepare != nil {
			prepare = d.intern(e.prepare) + 1
		}
		id, err := d.w.Intern(e.op, prepare, e.shape, func() (string, []uint32) { return e.text, e.types })
		d.check(err)
		e.id, e.gen = id, d.w.Generation()
	}
	return e.id
}

func (d *modelDriver) event(whole bool) {
	id := d.session()
	if len(d.m.events[id]) == 0 {
		d.m.sessions = append(d.m.sessions, id)
	}
	ordinal := d.m.next(id) + rapid.SampledFrom([]uint64{0, 0, 0, 0, 3}).Draw(d.t, "jump")
	me := &modelEvent{entry: rapid.SampledFrom(d.entries).Draw(d.t, "entry"), sent: d.m.steps}
	e := &me.e
	*e = Event{
		Session: id, Ordinal: ordinal, Start: d.now, RequestEnd: rapid.Bool().Draw(d.t, "end"),
		HasDue: rapid.Bool().Draw(d.t, "has due"), Diverged: Diverged(rapid.IntRange(0, 7).Draw(d.t, "diverged")),
	}
	if e.HasDue {
		e.Due = d.now - rapid.Int64Range(-5000, 5000).Draw(d.t, "due")
	}
	holes, _ := countHoles(me.entry.shape)
	for range holes {
		switch n := rapid.IntRange(-2, 20).Draw(d.t, "value"); n {
		case -2:
			e.Sizes = append(e.Sizes, SizeNull)
		case -1:
			e.Sizes = append(e.Sizes, SizeRedacted)
		default:
			e.Sizes = append(e.Sizes, SizeOf(n))
			e.Values = append(e.Values, rapid.SliceOfN(rapid.Byte(), n, n).Draw(d.t, "bytes")...)
		}
	}
	e.Shape = d.intern(me.entry)
	if whole && len(d.open[id]) == 0 {
		e.HasReply, e.Reply = true, d.outcome(0)
		me.answered = d.m.steps
	} else {
		d.open[id] = append(d.open[id], me)
	}
	d.m.events[id] = append(d.m.events[id], me)
	given := *e
	d.check(d.w.Event(&given))
}

func (d *modelDriver) outcome(took int64) Reply {
	r := Reply{
		Took: took, Rows: rapid.Uint64().Draw(d.t, "rows"), Results: rapid.Uint32().Draw(d.t, "results"),
		Bytes: rapid.Uint64Range(0, 1000).Draw(d.t, "bytes"), Status: Status(rapid.IntRange(0, 5).Draw(d.t, "status")),
		State:    rapid.SampledFrom([]byte{0, 'I', 'T', 'E'}).Draw(d.t, "state"),
		Checksum: rapid.Uint64().Draw(d.t, "checksum"), HasChecksum: true,
	}
	r.Tail = rapid.Int64Range(0, took).Draw(d.t, "tail")
	if r.Status == Error {
		r.Reason = rapid.SampledFrom([]string{"23505", "40001"}).Draw(d.t, "reason")
	}
	return r
}

func (d *modelDriver) reply() {
	id := d.session()
	open := d.open[id]
	if len(open) == 0 {
		return
	}
	me := open[0]
	d.open[id] = open[1:]
	me.e.Reply = d.outcome(d.now - me.e.Start)
	me.e.HasReply, me.answered = true, d.m.steps
	shape := uint32(0)
	if me.entry.prepare != nil && rapid.Bool().Draw(d.t, "changed") {
		for _, o := range d.entries {
			if o.op == me.entry.op && o.prepare == nil && bytes.Equal(o.shape, me.entry.shape) {
				me.late = o
				shape = d.intern(o) + 1
			}
		}
	}
	d.check(d.w.Reply(id, me.e.Ordinal, &me.e.Reply, shape))
}

func (d *modelDriver) gap() {
	g := Gap{Session: d.session(), First: 3, Last: 9, Start: d.now, Why: "queue full"}
	d.m.gaps = append(d.m.gaps, g)
	d.check(d.w.Gap(g))
}

// totals checks what the Writer counted.
func (d *modelDriver) totals() {
	t := d.w.Totals()
	want := Totals{Gaps: uint64(len(d.m.gaps)), Missing: 7 * uint64(len(d.m.gaps)), Sessions: uint64(len(d.m.events))}
	for _, s := range d.m.events {
		for _, e := range s {
			want.Events++
			if e.e.RequestEnd {
				want.Requests++
			}
			if e.entry.op.Statement() {
				want.Statements++
			}
		}
	}
	want.Bytes, want.First, want.Last = t.Bytes, t.First, t.Last
	if t != want {
		d.t.Fatalf("totals %+v, want %+v", t, want)
	}
}

// got is one event as it was read, copied.
type got struct {
	Event
	values []byte
}

// collected is what a reader gave.
type collected struct {
	events map[uint64][]got
	gaps   []Gap
	states []State
	damage []Damage
	whole  bool
}

// collect reads everything by way of Next, joining late replies the slow way.
func collect(r *Reader) (*collected, error) {
	c := &collected{events: map[uint64][]got{}}
	var b Batch
	for {
		if err := r.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			return c, err
		}
		if b.Header == nil || b.size() == 0 {
			return c, fmt.Errorf("empty batch")
		}
		for _, e := range b.Events {
			c.events[e.Session] = append(c.events[e.Session], copied(&e))
		}
		for _, l := range b.Late {
			c.late(&l)
		}
		c.gaps = append(c.gaps, b.Gaps...)
		c.states = append(c.states, b.States...)
	}
	c.damage, c.whole = r.Damage(), r.Complete()
	return c, nil
}

func copied(e *Event) got {
	g := got{Event: *e, values: slices.Clone(e.Values)}
	g.Sizes, g.Values = slices.Clone(e.Sizes), nil
	return g
}

func (c *collected) late(l *Late) {
	for i := range c.events[l.Session] {
		if e := &c.events[l.Session][i]; e.Ordinal == l.Ordinal && !e.HasReply {
			e.HasReply, e.Reply = true, l.Reply
			if l.Entry != nil {
				e.Entry = l.Entry
			}
			return
		}
	}
}

// same tells how an event that was read differs from the one that was written.
// lossy allows that its reply is not known.
func (me *modelEvent) same(g *got, tick int64, lossy bool) error {
	w := &me.e
	if g.Session != w.Session || g.Ordinal != w.Ordinal || g.RequestEnd != w.RequestEnd || g.Diverged != w.Diverged || g.HasDue != w.HasDue {
		return fmt.Errorf("read %+v, wrote %+v", g, w)
	}
	if !slices.Equal(g.Sizes, w.Sizes) || !bytes.Equal(g.values, w.Values) {
		return fmt.Errorf("values %v %q, wrote %v %q", g.Sizes, g.values, w.Sizes, w.Values)
	}
	if g.HasReply != w.HasReply && !(lossy && w.HasReply) {
		return fmt.Errorf("reply %v, wrote %v", g.HasReply, w.HasReply)
	}
	entry := me.entry
	if g.HasReply && me.late != nil {
		entry = me.late
	}
	if err := entry.same(g.Entry, lossy); err != nil {
		return err
	}
	if !g.HasReply {
		return nil
	}
	r, v := g.Reply, w.Reply
	r.Took, r.Tail, v.Took, v.Tail = 0, 0, 0, 0
	if r != v {
		return fmt.Errorf("reply %+v, wrote %+v", g.Reply, w.Reply)
	}
	return nil
}

// same: lossy allows that what it executes was in a block that is lost.
func (e *modelEntry) same(g *Entry, lossy bool) error {
	if g.Op != e.op || !bytes.Equal(g.Shape, e.shape) || g.Text != e.text || !slices.Equal(g.Types, e.types) || g.Prepare != nil && e.prepare == nil || g.Prepare == nil && e.prepare != nil && !lossy {
		return fmt.Errorf("entry %+v, wrote %+v", g, e)
	}
	if g.Prepare != nil {
		return e.prepare.same(g.Prepare, lossy)
	}
	return nil
}

// check compares everything that was read with everything that was written.
func (m *model) check(c *collected) error {
	if !c.whole || len(c.damage) > 0 {
		return fmt.Errorf("not complete: %v", c.damage)
	}
	for id, want := range m.events {
		if len(c.events[id]) != len(want) {
			return fmt.Errorf("session %d: %d events, wrote %d", id, len(c.events[id]), len(want))
		}
		for i := range want {
			if err := want[i].same(&c.events[id][i], m.tick, false); err != nil {
				return err
			}
		}
		if err := m.times(want, c.events[id]); err != nil {
			return fmt.Errorf("session %d: %w", id, err)
		}
	}
	if err := m.checkStates(c.states); err != nil {
		return err
	}
	if len(c.events) != len(m.events) || !slices.Equal(c.gaps, m.gaps) {
		return fmt.Errorf("%d sessions and gaps %v, wrote %d and %v", len(c.events), c.gaps, len(m.events), m.gaps)
	}
	return nil
}

// checkStates finds the states that were given, in order, among those that
// segments brought along.
func (m *model) checkStates(read []State) error {
	var given []State
	for _, s := range read {
		if s.Settings != nil {
			given = append(given, s)
		}
	}
	if !reflect.DeepEqual(given, m.states) {
		return fmt.Errorf("states %v, wrote %v", given, m.states)
	}
	return nil
}

// times checks that times are what was written, as far as a tick allows, and
// that what waited for what can be told from them.
func (m *model) times(want []*modelEvent, read []got) error {
	for i := range read {
		w, g := &want[i].e, &read[i]
		slack := m.tick * int64(len(read)+2) // what rounding may add up to if no time passes
		if d := g.Start - w.Start; d < -m.tick || d > slack {
			return fmt.Errorf("event %d starts at %d, wrote %d", g.Ordinal, g.Start, w.Start)
		}
		if d := g.End() - w.End(); g.HasReply && (d < -m.tick || d > slack) {
			return fmt.Errorf("event %d ends at %d, wrote %d", g.Ordinal, g.End(), w.End())
		}
		if w.HasDue && (g.Start-g.Due) != floorDiv(w.Start-w.Due, m.tick)*m.tick {
			return fmt.Errorf("event %d: %d late, wrote %d", g.Ordinal, g.Start-g.Due, w.Start-w.Due)
		}
		for j := range i {
			if !read[j].HasReply {
				continue
			}
			waited := want[j].answered < want[i].sent
			if told := read[j].End() <= g.Start; told != waited {
				return fmt.Errorf("event %d at %d, event %d ended at %d: waited %v", g.Ordinal, g.Start, read[j].Ordinal, read[j].End(), waited)
			}
		}
	}
	return nil
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var out bytes.Buffer
		m.run(t, &out, "0123456789abcdef0123456789abcdef")
		c, err := collect(NewReader(bytes.NewReader(out.Bytes()), "x"))
		if err == nil {
			err = m.check(c)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := m.checkEach(out.Bytes()); err != nil {
			t.Fatal(err)
		}
	})
}

// checkEach reads by way of Each: every event once, in order, with its reply.
func (m *model) checkEach(b []byte) error {
	c := &collected{events: map[uint64][]got{}}
	r := NewReader(bytes.NewReader(b), "x")
	err := r.Each(func(e *Event) error {
		c.events[e.Session] = append(c.events[e.Session], copied(e))
		return nil
	})
	c.whole, c.gaps, c.states = r.Complete(), m.gaps, m.states
	if err != nil {
		return err
	}
	return m.check(c)
}
