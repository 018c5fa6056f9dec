package analyze

import (
	"math"
	"slices"

	"github.com/retrace-db/retrace/analyze/stat"
	"github.com/retrace-db/retrace/trace"
)

// Member is one of the runs of a group, which stand in the report as one: counts
// and histograms are of all of them together, and a verdict takes each run for
// one sample.
type Member struct {
	Label      string   `json:"label"`
	Trace      string   `json:"trace"`
	Started    string   `json:"started"`
	SpanS      *float64 `json:"span_s"`
	Statements uint64   `json:"statements"`
	Errors     uint64   `json:"errors"`
	P50        *float64 `json:"service_p50_us"`
	P99        *float64 `json:"service_p99_us"`
	Valid      *bool    `json:"valid"`
}

// AddMember reads one more run of the group that begins with this label, or
// begins it; otherwise it is as Add.
func (a *Analysis) AddMember(group, label string, r *trace.Reader, tick func(events uint64) error) (uint64, error) {
	c := newCollector(a.index, a.member(group), a.options)
	err := c.read(label, r, tick)
	a.join(c, group, label, r)
	return c.facts.events, err
}

// member is the place of a group among the runs.
func (a *Analysis) member(group string) int {
	if n := len(a.runs); n > 0 && a.runs[n-1].Label == group && len(a.runs[n-1].Members) > 0 {
		return n - 1
	}
	return len(a.runs)
}

// join adds what was collected of a run to its group.
func (a *Analysis) join(c *collector, group, label string, in input) {
	place := a.member(group)
	run := a.finish(c, group, in)
	for _, row := range a.index.all() {
		row.in(place).sample()
	}
	m := Member{
		Label: label, Trace: run.Trace, Started: run.Started, SpanS: run.SpanS, Statements: run.Statements, Valid: run.Valid,
	}
	if l := c.total.service.latency(); l != nil {
		m.P50, m.P99 = &l.P50, &l.P99
	}
	for o, n := range c.total.outcomes {
		if o.status == trace.Error {
			m.Errors += n
		}
	}
	run.Members = []Member{m}
	if place == len(a.runs) {
		first := c.total
		a.runs, a.total = append(a.runs, run), append(a.total, &first)
		return
	}
	a.runs[place].with(&run)
	a.total[place].merge(&c.total)
}

// with makes a run's description that of one more run too. Of schedules it keeps
// the one that was held worst.
func (r *Run) with(other *Run) {
	r.unlike = r.unlike || r.Engine != other.Engine || origin(r) != origin(other) || value(r.Target) != value(other.Target) ||
		value(r.Pace) != value(other.Pace) || value(r.Speed) != value(other.Speed)
	r.skipped = r.skipped || other.skipped
	r.mixed = r.mixed || other.mixed
	r.Members = append(r.Members, other.Members...)
	r.Sessions, r.Events, r.Requests = r.Sessions+other.Sessions, r.Events+other.Events, r.Requests+other.Requests
	r.Statements, r.Unmatched = r.Statements+other.Statements, r.Unmatched+other.Unmatched
	r.SkippedStart += other.SkippedStart
	r.Gaps, r.Missing, r.LeftOut = r.Gaps+other.Gaps, r.Missing+other.Missing, r.LeftOut+other.LeftOut
	r.Complete, r.Damage = r.Complete && other.Complete, append(r.Damage, other.Damage...)
	for op, n := range other.Operations {
		r.Operations[op] += n
	}
	if other.SpanS != nil {
		r.SpanS = new(value(r.SpanS) + *other.SpanS)
		r.StatementsPerS = new(float64(r.Statements) / *r.SpanS)
	}
	r.series = nil // they ran at different times
	if other.KeptUp != nil {
		r.KeptUp = new(*other.KeptUp && (r.KeptUp == nil || *r.KeptUp))
		if r.Busy == nil || other.Busy.P99 > r.Busy.P99 {
			r.Busy = other.Busy
		}
	}
	if other.Valid != nil {
		r.Valid = new(*other.Valid && (r.Valid == nil || *r.Valid))
		if r.ScheduleError == nil || other.ScheduleError.P99 > r.ScheduleError.P99 {
			r.ScheduleError = other.ScheduleError
		}
	}
}

// once is what one run of a group says of the statements of a fingerprint.
type once struct {
	median, tail float64 // logarithms; the tail is NaN where too few know it
	sum, count   float64
}

// sample makes the statements that were kept since the last time the group's
// next sample, and lets go of them.
func (f *figures) sample() {
	if o := f.latest(); o.count > 0 {
		f.onces = append(f.onces, o)
	}
	f.sampled = once{sum: f.service.sum(), count: float64(f.service.count)}
	f.sketch, f.worst = sketch{}, worst{} // a session and an ordinal do not say of which run
}

// latest is what stands in the figures beyond the samples taken; its count is 0
// where that is nothing.
func (f *figures) latest() once {
	took := make([]float32, 0, len(f.sketch.samples))
	for i := range f.sketch.samples {
		took = append(took, f.sketch.samples[i].took)
	}
	slices.Sort(took)
	n := len(took)
	if n == 0 {
		return once{}
	}
	o := once{sum: f.service.sum() - f.sampled.sum, count: float64(f.service.count) - f.sampled.count, tail: math.NaN()}
	o.median = (logOf(took[(n-1)/2]) + logOf(took[n/2])) / 2
	if n >= tailFrom {
		o.tail = logOf(took[int(0.99*float64(n)+0.5)-1])
	}
	return o
}

// each is a sample of every run: of one that is no group, itself.
func (f *figures) each() []once {
	if o := f.latest(); o.count > 0 {
		return append(slices.Clone(f.onces), o)
	}
	return f.onces
}

// byRuns compares a figure of each run of one group with those of another.
func (c *comparison) byRuns(metric string, base, run []once, of func(once) float64) *Change {
	values := func(all []once) []float64 {
		out := make([]float64, len(all))
		for i := range all {
			out[i] = of(all[i])
		}
		return out
	}
	return newChange(metric, byRuns, stat.Runs(values(base), values(run), c.confidence))
}

func knowTails(all []once) bool {
	return !slices.ContainsFunc(all, func(o once) bool { return math.IsNaN(o.tail) })
}

// times adds up, for each run of a group, the mean times of statements, each as
// often as n says. Fingerprints that not every run has are left out.
type times struct {
	base, run []float64
	any       bool
}

func newTimes(base, run *Run) *times {
	return &times{base: make([]float64, max(len(base.Members), 1)), run: make([]float64, max(len(run.Members), 1))}
}

func (t *times) add(base, run []once, n float64) {
	if len(base) != len(t.base) || len(run) != len(t.run) {
		return
	}
	t.any = true
	for i, o := range base {
		t.base[i] += n * o.sum / o.count
	}
	for i, o := range run {
		t.run[i] += n * o.sum / o.count
	}
}

func (t *times) estimate(confidence float64) stat.Estimate {
	for _, side := range [][]float64{t.base, t.run} {
		for i := range side {
			side[i] = math.Log(max(side[i], 1))
		}
	}
	return stat.Runs(t.base, t.run, confidence)
}
