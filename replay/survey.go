package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// Survey is what a replay would send, found out by reading the trace: the first
// half of a dry run, the same for every target.
type Survey struct {
	Source       string   `json:"source"` // identity of the trace
	Pace         string   `json:"pace"`
	Speed        *float64 `json:"speed"`
	Loops        int      `json:"loops"`   // how often the trace is replayed
	SpanS        float64  `json:"span_s"`  // from the first request to the last
	TakesS       *float64 `json:"takes_s"` // null where that depends on the target, or on the silence that is cut
	Sessions     uint64   `json:"sessions"`
	PeakSessions int      `json:"peak_sessions"` // at once, in the recording
	OpenBefore   uint64   `json:"open_before"`   // sessions that were open when the recording began
	UnknownFrom  uint64   `json:"unknown_from"`  // sessions of whose beginning nothing is known
	Requests     uint64   `json:"requests"`
	Statements   Share    `json:"statements"`
	Events       Share    `json:"events"`
	Unportable   uint64   `json:"unportable"` // statements with parameter types that other databases number otherwise
	Gaps         uint64   `json:"gaps"`
	Missing      uint64   `json:"missing"`   // events that the gaps name
	Checksums    bool     `json:"checksums"` // results can be compared

	Dangerous map[string]uint64 `json:"dangerous"` // statements that could harm more than the data, by what they would do

	Databases map[string]uint64 `json:"databases"` // sessions of each
	Users     map[string]uint64 `json:"users"`

	version string
	probes  map[probe]*probed
	dropped uint64 // statements of texts beyond maxProbes
}

// Share says how much of what was captured would be sent.
type Share struct {
	Captured uint64            `json:"captured"`
	Sent     uint64            `json:"sent"`
	NotSent  map[string]uint64 `json:"not_sent"` // by reason
}

func (s *Share) count(reason string) {
	s.Captured++
	if reason == "" {
		s.Sent++
		return
	}
	s.NotSent[reason]++
}

// probe is a statement's text in a database; probed is how often it runs.
type probe struct{ database, sql string }

type probed struct {
	types      []uint32
	statements uint64
}

// maxProbes bounds the texts that are kept, whatever the trace holds.
const maxProbes = 8192

// Look reads a trace as a replay would, and sends nothing.
func Look(ctx context.Context, in *trace.Reader, o Options) (*Survey, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	h := in.Header()
	if h == nil {
		return nil, firstError(in)
	}
	pace, err := o.paceOf(h)
	if err == nil {
		err = o.checkOrder(h)
	}
	if err != nil {
		return nil, err
	}
	l := &look{
		Survey: &Survey{
			Source: h.Trace, Pace: pace, version: h.EngineVersion, Databases: map[string]uint64{}, Users: map[string]uint64{},
			Statements: Share{NotSent: map[string]uint64{}}, Events: Share{NotSent: map[string]uint64{}}, probes: map[probe]*probed{},
		},
		source: &source{known: map[*trace.Entry]*knowledge{}, selection: o.selection(), perils: map[string]uint64{}},
		states: map[uint64]*trace.State{}, omissions: map[uint64]*omission{},
	}
	l.Dangerous = l.source.perils
	if err := l.read(ctx, in); err != nil {
		return nil, err
	}
	l.takes(&o)
	return l.Survey, nil
}

// look is a Survey being made.
type look struct {
	*Survey
	source *source // for what it knows of events
	crowd  presence
	states map[uint64]*trace.State // of live sessions; nil for one that is not known

	omissions map[uint64]*omission
	first     int64
	last      int64
	sent      uint64 // requests
}

func (l *look) read(ctx context.Context, in *trace.Reader) error {
	var b trace.Batch
	for {
		switch err := in.Next(&b); {
		case errors.Is(err, io.EOF):
			l.PeakSessions, l.SpanS = l.crowd.most, time.Duration(l.last-l.first).Seconds()
			return nil
		case err != nil:
			return fmt.Errorf("read the trace: %w", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		l.block(&b)
	}
}

func (l *look) block(b *trace.Batch) {
	for i := range b.States {
		if s := b.States[i]; l.states[s.Session] == nil {
			l.states[s.Session] = &s
			l.session(&s)
		}
	}
	for i := range b.Gaps {
		if g := &b.Gaps[i]; !g.LeftOut {
			l.Gaps++
			l.Missing += g.Events()
		}
	}
	l.crowd.block(b)
	for i := range b.Events {
		l.event(&b.Events[i])
	}
}

func (l *look) session(s *trace.State) {
	l.Sessions++
	if l.omission(s.Session, s).session == endNone {
		l.Databases[s.Database]++
		l.Users[s.User]++
	}
	if s.Ordinal > 0 {
		l.OpenBefore++
	}
}

// omission is what is left out of a session on request.
func (l *look) omission(id uint64, state *trace.State) *omission {
	o := l.omissions[id]
	if o == nil {
		o = &omission{session: l.source.selection.session(id, state)}
		l.omissions[id] = o
	}
	return o
}

func (l *look) event(e *trace.Event) {
	if l.Events.Captured == 0 {
		l.first = e.Start
	}
	l.first, l.last = min(l.first, e.Start), max(l.last, e.Start)
	state, known := l.states[e.Session]
	op := e.Entry.Op
	switch {
	case op == trace.OpCancel:
		l.Sessions++
	case !known:
		l.states[e.Session] = nil
		l.Sessions++
		if op != trace.OpConnect {
			l.UnknownFrom++
		}
	}
	l.Checksums = l.Checksums || e.HasChecksum
	if e.RequestEnd {
		l.Requests++
	}
	reason := l.reason(e, state)
	l.Events.count(reason)
	if e.RequestEnd && reason == "" {
		l.sent++
	}
	if op == trace.OpEnd {
		delete(l.states, e.Session)
		delete(l.omissions, e.Session)
	}
	if !op.Statement() {
		return
	}
	l.Statements.count(reason)
	if l.source.know(e.Entry).foreign {
		l.Unportable++
	}
	if reason == "" {
		l.probe(e, state)
	}
}

// reason is why an event would not be sent, "" if it would.
func (l *look) reason(e *trace.Event, state *trace.State) string {
	if e.Entry.Op == trace.OpCancel {
		return ""
	}
	var r record
	l.source.bytes(&r, e)
	if why := l.source.leaveOut(l.omission(e.Session, state), e, state, r.bytes); why != endNone {
		return why.String()
	}
	if unplayable(state) {
		return skipNotReplayable.String()
	}
	if r.flags&flagSkip == 0 {
		return ""
	}
	return r.end.String()
}

func (l *look) probe(e *trace.Event, state *trace.State) {
	k := probe{sql: e.Entry.SQL()}
	if state != nil {
		k.database = state.Database
	}
	found := l.probes[k]
	switch {
	case found != nil:
	case len(l.probes) == maxProbes:
		l.dropped++
		return
	default:
		found = &probed{types: e.Entry.Types}
		if len(found.types) == 0 && e.Entry.Prepare != nil {
			found.types = e.Entry.Prepare.Types
		}
		l.probes[k] = found
	}
	found.statements++
}

// takes says how long the replay would take, where its pace knows.
func (l *look) takes(o *Options) {
	seconds := l.SpanS
	l.Loops = max(o.Loops, 1)
	switch l.Pace {
	case PaceOriginal:
		l.Speed = new(1.0)
		if o.Speed != 0 {
			l.Speed = &o.Speed
		}
		seconds /= *l.Speed
	case PaceRate:
		seconds = float64(l.sent) / o.Rate
	default:
		return
	}
	if o.MaxGap > 0 {
		return // what is cut shows when the sessions are put in order
	}
	seconds *= float64(l.Loops)
	if o.Duration > 0 {
		seconds = min(seconds, o.Duration.Seconds())
	}
	l.TakesS = &seconds
}

// databases are those that sessions would connect to.
func (s *Survey) databases(o *Options) []string {
	if named := o.Target.Database(); named != "" {
		return []string{named}
	}
	known := maps.Clone(s.Databases)
	delete(known, "")
	return sortedKeys(known)
}
