package replay

import (
	"maps"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

// selection decides what is left out on request. What other events rest on stays:
// logins and ends, transaction control, settings, prepares, and the Sync of what
// is left out.
type selection struct {
	only, skip *filter.Filter
	readOnly   bool
	dangerous  bool // send what is dangerous, too
}

func (o *Options) selection() selection {
	return selection{o.Only, o.Skip, o.ReadOnly, o.AllowDangerous}
}

// session tells whether all of a session is left out, login and all, and why.
func (sel *selection) session(id uint64, state *trace.State) ending {
	if none, _ := sel.only.OfSession(id, state); none {
		return omitOnly
	}
	if sel.skip != nil {
		if _, all := sel.skip.OfSession(id, state); all {
			return omitSkip
		}
	}
	return endNone
}

// statement tells whether a statement is left out, and why.
func (sel *selection) statement(e *trace.Event, state *trace.State, k *knowledge, peril string) ending {
	switch {
	case peril != "" && !sel.dangerous:
		return omitDangerous
	case sel.readOnly && k.access == sqltext.Writes:
		return omitReadOnly
	case k.structural:
		return endNone
	case !sel.only.Match(e, state):
		return omitOnly
	case sel.skip != nil && sel.skip.Match(e, state):
		return omitSkip
	}
	return endNone
}

// settings are those to log in with. Where nothing may write, the server sees to
// it as well: functions can do what their names do not tell.
func (sel *selection) settings(recorded map[string]string) map[string]string {
	if !sel.readOnly {
		return recorded
	}
	own := maps.Clone(recorded)
	if own == nil {
		own = map[string]string{}
	}
	own["default_transaction_read_only"] = "on"
	return own
}

// omission is what is left out of a session.
type omission struct {
	session   ending // why all of it is, if it is
	statement ending // the same of its latest statement
}

// leaveOut tells whether an event is left out, and why. Fetches and COPY data go
// with their statement.
func (src *source) leaveOut(o *omission, e *trace.Event, state *trace.State, bytes []byte) ending {
	switch op := e.Entry.Op; {
	case op.Statement():
		k := src.know(e.Entry)
		peril := k.peril(bytes)
		if peril != "" {
			src.perils[peril]++
		}
		if o.session == endNone {
			named := e.Session
			e.Session = src.feed.origin(named)
			o.statement = src.selection.statement(e, state, k, peril)
			e.Session = named
			return o.statement
		}
	case o.session == endNone && (op == trace.OpFetch || op == trace.OpCopy):
		return o.statement
	}
	return o.session
}

// omit marks a record that is left out.
func (src *source) omit(s *session, e *trace.Event, r *record) {
	why := src.leaveOut(&s.omission, e, s.state, r.bytes)
	if why == endNone {
		return
	}
	r.flags, r.end = r.flags|flagSkip, why
	if s.omission.session != endNone || e.Entry.Op == trace.OpCopy {
		r.bytes = nil // nothing will ask for its Parse or its Sync
	}
}

// omits tells whether an ending says that an event is left out on request.
func (e ending) omits() bool { return e >= omitOnly && e <= omitDangerous }

// unsendable is the status of an event that is not to be sent.
func (e ending) unsendable() trace.Status {
	if e.omits() {
		return trace.Filtered
	}
	return trace.Skipped
}
