package analyze

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/retrace-db/retrace/analyze/aggregate"
	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

// Options of an analysis; the zero value is what the command line uses.
type Options struct {
	MaxFingerprints int            // 0: DefaultFingerprints
	Where           *filter.Filter // the statements to count; nil: all
	SkipStart       time.Duration  // so much of the beginning of each run is not counted
	Alone           bool           // there is one trace only: nothing is kept for comparing
	Effect          float64        // percent that a change must have to matter; 0: DefaultEffect
	Confidence      float64        // percent; 0: DefaultConfidence
	MaxDiverged     *float64       // percent of statements that may diverge, or fail anew; nil: DefaultMaxDiverged
}

// Analysis takes traces one after the other and reports on all of them.
type Analysis struct {
	options Options
	index   *index
	runs    []Run
	total   []*figures

	aggregates []aggregate.Run
}

// New starts an analysis.
func New(o Options) *Analysis {
	return &Analysis{options: o, index: newIndex(cmp.Or(o.MaxFingerprints, DefaultFingerprints))}
}

// tickEvery is how often a caller hears how far a pass is.
const tickEvery = 1 << 14

// Add reads one trace to its end and says how many events it had. tick is
// called now and then with their number so far; an error of it ends the pass.
// What was read before an error is part of the report.
func (a *Analysis) Add(label string, r *trace.Reader, tick func(events uint64) error) (uint64, error) {
	c := newCollector(a.index, len(a.runs), a.options)
	err := c.read(label, r, tick)
	a.add(c, label, r)
	return c.facts.events, err
}

// read takes the events of a trace.
func (c *collector) read(label string, r *trace.Reader, tick func(events uint64) error) error {
	r.Options(trace.ReadOptions{NoValues: true})
	c.warmup.length, c.warmup.first = inTime(c.warmup.length, r.Header()), r.First
	each := r.EachWithState
	if !c.where.NeedsState() {
		each = func(fn func(*trace.Event, *trace.State) error) error {
			return r.Each(func(e *trace.Event) error { return fn(e, nil) })
		}
	}
	err := each(func(e *trace.Event, of *trace.State) error {
		c.event(e, of)
		if c.facts.events%tickEvery == 0 && tick != nil {
			return tick(c.facts.events)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("analyze %s: %w", label, err)
	}
	return nil
}

// AddEvents takes events that are no file's, of a header that describes them.
// Each session's must come in order.
func (a *Analysis) AddEvents(label string, h *trace.Header, events iter.Seq[*trace.Event]) {
	c := newCollector(a.index, len(a.runs), a.options)
	for e := range events {
		c.event(e, nil)
	}
	a.add(c, label, whole{h})
}

// whole is the input of events that nothing is missing of.
type whole struct{ header *trace.Header }

func (w whole) Headers() []*trace.Header  { return []*trace.Header{w.header} }
func (whole) Damage() []trace.Damage      { return nil }
func (whole) Complete() bool              { return true }
func (whole) Gaps() (gaps, events uint64) { return 0, 0 }
func (whole) LeftOut() uint64             { return 0 }

// input is what a run's description is made of beside its events.
type input interface {
	Headers() []*trace.Header
	Damage() []trace.Damage
	Complete() bool
	Gaps() (gaps, events uint64)
	LeftOut() uint64
}

func (a *Analysis) add(c *collector, label string, in input) {
	a.runs = append(a.runs, a.finish(c, label, in))
	a.total = append(a.total, &c.total)
}

// finish describes what was collected.
func (a *Analysis) finish(c *collector, label string, in input) Run {
	c.finish()
	run := Run{Label: label, Damage: append([]trace.Damage{}, in.Damage()...), Complete: in.Complete(), Members: []Member{}}
	run.Gaps, run.Missing = in.Gaps()
	run.LeftOut = in.LeftOut()
	describe(&run, in.Headers())
	c.describe(&run)
	return run
}

// describe takes what the first segment says; the others continue it.
func describe(run *Run, headers []*trace.Header) {
	if len(headers) == 0 {
		return
	}
	h := headers[0]
	for _, other := range headers[1:] {
		run.mixed = run.mixed || other.MadeBy != h.MadeBy || replayOf(other) != replayOf(h)
	}
	run.Trace, run.MadeBy, run.Engine, run.EngineVersion = h.Trace, h.MadeBy, h.Engine, h.EngineVersion
	run.Timing, run.Started = h.Timing, h.Started
	if h.Source != nil && h.Source.Target != "" {
		run.Target = &h.Source.Target
	}
	if h.Run != nil {
		run.Source, run.Pace, run.Target = &h.Run.Source, &h.Run.Pace, &h.Run.Target
		if h.Run.Speed != 0 {
			run.Speed = &h.Run.Speed
		}
	}
}

// replayOf is what was replayed and how, as far as it must be one for figures
// to belong together.
func replayOf(h *trace.Header) trace.Run {
	if h.Run == nil {
		return trace.Run{}
	}
	return trace.Run{Source: h.Run.Source, Target: h.Run.Target, Pace: h.Run.Pace, Speed: h.Run.Speed}
}

var opNames = map[trace.Op]string{
	trace.OpConnect: "connect", trace.OpPrepare: "prepare", trace.OpFetch: "fetch", trace.OpClose: "close", trace.OpSync: "sync",
	trace.OpCopy: "copy_data", trace.OpFunction: "function", trace.OpCancel: "cancel", trace.OpEnd: "end",
}

// describe adds what the events said.
func (c *collector) describe(run *Run) {
	f := &c.facts
	run.series = &c.series
	run.clock = clock{origin: c.origin, first: f.first, until: f.until}
	run.Events, run.Requests, run.Sessions, run.Statements = f.events, f.requests, f.sessions, c.total.count
	run.Unmatched, run.filtered = c.unmatched, c.where != nil
	run.SkippedStart, run.skipped = c.warmup.left, c.warmup.length > 0
	if c.warmup.known {
		f.first = min(c.warmup.end, f.until)
		run.clock.first = f.first
	}
	run.Operations = map[string]uint64{}
	for op, n := range f.ops {
		if n > 0 && !trace.Op(op).Statement() {
			run.Operations[cmp.Or(opNames[trace.Op(op)], "other")] += n
		}
	}
	if span := float64(f.until-f.first) / 1e9; f.events > 0 && span > 0 {
		run.SpanS, run.StatementsPerS = &span, new(float64(run.Statements)/span)
	}
	if run.ScheduleError = f.late.latency(); run.ScheduleError != nil {
		service := &c.total.service
		if c.partial { // a filter must not make a late replayer look good
			service = &c.service
		}
		run.Busy = c.facts.busy.latency()
		run.Valid = new(valid(run.ScheduleError, service.latency()))
		run.KeptUp = new(keptUp(run.Busy, service.latency()))
	}
}

// valid: the replayer held the schedule well enough for response times to be
// the target's.
func valid(late, service *Latency) bool {
	limit := 1000.0
	if service != nil {
		limit = max(limit, 0.05*service.P50)
	}
	return late.P99 <= limit
}

// keptUp: the target answered soon enough for the schedule to be held.
func keptUp(busy, service *Latency) bool {
	limit := 10_000.0
	if service != nil {
		limit = max(limit, service.P50)
	}
	return busy.P99 <= limit
}
