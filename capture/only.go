package capture

import (
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/internal/wire/sqltext"
	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

const whyOnly = "not asked for by the filter"

// wants tells whether any event of a session can match the filter, as far as is
// known when it begins.
func (r *Recorder) wants(id uint64, s *pg.Startup) bool {
	none, _ := r.options.Only.OfSession(id, &trace.State{Session: id, Database: s.Database, User: s.User, Settings: s.Settings})
	return !none
}

// only decides which statements are recorded. What others rest on stays:
// transaction control, settings, prepares, all that is no statement. So does the
// event that ends a request of which something stays: nobody could send the rest
// without its end.
type only struct {
	filter     *filter.Filter // nil: all
	generation int
	entries    map[uint32]*judged
	text       string // of the entry being made
}

// judged is a dictionary entry and what the filter says of it.
type judged struct {
	trace.Entry
	known, stays bool
}

// omitted is what was left out of a session since the last event that was not.
type omitted struct {
	latest      bool // the latest statement was
	some        bool
	inside      bool // something of the request under way is recorded
	first, last uint64
	start       int64
}

func newOnly(f *filter.Filter) only { return only{filter: f} }

// note remembers an entry that may be new, with the entry it executes.
func (o *only) note(id, prepare uint32, op trace.Op, generation int) {
	if o.generation != generation {
		o.generation, o.entries = generation, map[uint32]*judged{}
	}
	if o.entries[id] == nil {
		j := &judged{Entry: trace.Entry{ID: id, Op: op, Text: o.text}}
		if p := o.entries[prepare-1]; prepare > 0 && p != nil {
			j.Prepare = &p.Entry
		}
		o.entries[id] = j
	}
	o.text = ""
}

// stays tells whether the entry's statements are recorded.
func (o *only) stays(l *life, id uint32) bool {
	j := o.entries[id]
	if j == nil {
		return true
	}
	if !j.known {
		sql := j.SQL()
		// The session has been asked already: the words about it match.
		s := trace.State{Session: l.id}
		if l.startup != nil {
			s.Database, s.User, s.Settings = l.startup.Database, l.startup.User, l.startup.Settings
		}
		j.stays = filter.Structural(sql) || len(sqltext.Effects([]byte(sql))) > 0 || o.filter.Match(&trace.Event{Session: l.id, Entry: &j.Entry}, &s)
		j.known = true
	}
	return j.stays
}

// omits tells whether an event is left out.
func (o *only) omits(l *life, r *row, id uint32) bool {
	if o.filter == nil {
		return false
	}
	omit := false
	switch r.op {
	case pg.OpQuery, pg.OpExecute:
		omit = !o.stays(l, id) && !preparesName(r)
		l.omitted.latest = omit
	case pg.OpFetch:
		omit = !o.stays(l, id)
	case pg.OpCopy:
		omit = l.omitted.latest
	}
	ends := r.flags&flagRequestEnd != 0
	if omit && ends && l.omitted.inside {
		omit = false
	}
	l.omitted.inside = !ends && (l.omitted.inside || !omit)
	return omit
}

// preparesName: the event begins with a Parse of a statement that has a name.
func preparesName(r *row) bool {
	return r.flags&flagOverLimit == 0 && len(r.data) > 5 && r.data[0] == 'P' && r.data[5] != 0
}

// omit leaves an event out.
func (e *encoder) omit(l *life, r *row) {
	o := &l.omitted
	if o.some && o.last+1 != r.ordinal {
		e.tellOmitted(l)
	}
	if !o.some {
		o.some, o.first, o.start = true, r.ordinal, r.at
	}
	o.last = r.ordinal
	e.asked = false
}

// tellOmitted names what was left out until now.
func (e *encoder) tellOmitted(l *life) {
	if o := &l.omitted; o.some {
		o.some = false
		e.record(trace.Gap{Session: l.id, First: o.first, Last: o.last, Start: o.start, Why: whyOnly, LeftOut: true})
	}
}

// aimsAtOmitted: a cancel request is meant for what was left out.
func (e *encoder) aimsAtOmitted(r *row) bool {
	l := e.live[r.size]
	return l != nil && l.omitted.some && l.omitted.first <= r.prepare && r.prepare <= l.omitted.last
}
