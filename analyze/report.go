package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/retrace-db/retrace/analyze/aggregate"
	"github.com/retrace-db/retrace/trace"
)

// Schema is the version of the report's JSON.
const Schema = 1

// Report is what an analysis found. It is API: snake_case, durations in the
// unit their name ends in, runs in the order of the arguments, null where
// there is no data.
type Report struct {
	Schema       int           `json:"schema"`
	Where        *string       `json:"where"`        // only statements that match this filter are counted; null: all are
	SkipStartS   *float64      `json:"skip_start_s"` // so much of the beginning of each run is not counted; null: nothing is left out
	Runs         []Run         `json:"runs"`
	Total        Total         `json:"total"`
	Fingerprints []Fingerprint `json:"fingerprints"` // the costliest first
	Comparisons  []Comparison  `json:"comparisons"`  // of each run but the first with that
	Gates        []Gate        `json:"gates"`        // conditions that were asked for
	Verdict      *Verdict      `json:"verdict"`      // of the first comparison; null without
	Warnings     []Warning     `json:"warnings"`

	Aggregates []aggregate.Run `json:"aggregates"` // what other tools reported, to be looked at beside the runs
}

// Run describes one of the traces.
type Run struct {
	Label          string            `json:"label"`
	Members        []Member          `json:"members"` // the runs of a group; none of a single run
	Trace          string            `json:"trace"`   // identity
	MadeBy         string            `json:"made_by"`
	Engine         string            `json:"engine"`
	EngineVersion  string            `json:"engine_version"`
	Target         *string           `json:"target"`
	Source         *string           `json:"source"` // identity of the trace that was replayed
	Pace           *string           `json:"pace"`
	Speed          *float64          `json:"speed"`
	Timing         string            `json:"timing"`
	Started        string            `json:"started"`
	SpanS          *float64          `json:"span_s"` // first request to last reply; of a group, the sum
	Sessions       uint64            `json:"sessions"`
	Events         uint64            `json:"events"`
	Requests       uint64            `json:"requests"`
	Statements     uint64            `json:"statements"`
	Unmatched      uint64            `json:"unmatched"`     // statements that do not match the filter, in none of the figures
	SkippedStart   uint64            `json:"skipped_start"` // statements of the beginning that was left out, in none of the figures
	StatementsPerS *float64          `json:"statements_per_s"`
	Operations     map[string]uint64 `json:"operations"` // events that are no statements
	Gaps           uint64            `json:"gaps"`
	Missing        uint64            `json:"missing"`  // events the gaps name
	LeftOut        uint64            `json:"left_out"` // events the recording left out on purpose
	Complete       bool              `json:"complete"`
	Damage         []trace.Damage    `json:"damage"`
	ScheduleError  *Latency          `json:"schedule_error_us"` // sent − when it was due and the session free; of a group, of the run where it is worst
	Busy           *Latency          `json:"busy_us"`           // how long requests waited for earlier replies of their session, from when they were due; of a group, of the run where it is worst
	Valid          *bool             `json:"valid"`             // null without a schedule; of a group, whether all are
	KeptUp         *bool             `json:"kept_up"`           // the target did; null without a schedule

	clock    clock
	series   *series
	mixed    bool // its files are of different runs
	unlike   bool // the runs of the group are not repetitions of one
	skipped  bool // its beginning was left out
	filtered bool // not all of its statements were to be counted
}

// Total holds the figures of all statements.
type Total struct {
	Runs    []Figures `json:"runs"`
	Verdict *Verdict  `json:"verdict"`
	Change  *Change   `json:"change"` // of the second run against the first
}

// Fingerprint holds the figures of the statements that share a normalised text.
type Fingerprint struct {
	ID      string    `json:"id"`
	SQL     string    `json:"sql"`
	Op      string    `json:"op"` // the first word: select, insert
	Runs    []Figures `json:"runs"`
	Verdict *Verdict  `json:"verdict"`
	Change  *Change   `json:"change"` // of the second run against the first
}

// Figures are the figures of some statements in one run.
type Figures struct {
	Count      uint64                       `json:"count"`
	OK         uint64                       `json:"ok"`
	Errors     map[string]uint64            `json:"errors"` // by code
	Other      map[string]map[string]uint64 `json:"other"`  // skipped, filtered, lost, unsent: by reason
	Rows       uint64                       `json:"rows"`
	ReplyBytes uint64                       `json:"reply_bytes"`
	Fetches    uint64                       `json:"fetches"`
	SharePct   *float64                     `json:"share_pct"` // of the run's total service time
	Service    *Latency                     `json:"service_us"`
	Response   *Latency                     `json:"response_us"` // null without a schedule
	Diverged   *Diverged                    `json:"diverged"`    // null in a recording
	Worst      []Execution                  `json:"worst"`       // the slowest that succeeded; of a fingerprint, in a run that is no group
	Change     *Change                      `json:"change"`      // against the first run: what the verdict rests on; null in that one
	Median     *Change                      `json:"median"`      // of the service time; null where latencies cannot be compared, and in the total
	Tail       *Change                      `json:"tail"`        // of its p99; null with fewer than 2,000 samples too

	curve []float64 // of the service time, for pictures
}

// Gate is what came of a condition under which a job must fail.
type Gate struct {
	Condition string   `json:"condition"`
	Failed    bool     `json:"failed"`
	Why       []string `json:"why"`
}

// Comparison is the verdict on a whole run.
type Comparison struct {
	Run          string          `json:"run"`
	Baseline     string          `json:"baseline"`
	Verdict      Verdict         `json:"verdict"`
	Why          []string        `json:"why"`          // the runs cannot be compared
	Fingerprints map[Verdict]int `json:"fingerprints"` // how many have which verdict
	NewErrors    []string        `json:"new_errors"`   // codes that the first run does not have
	GoneErrors   []string        `json:"gone_errors"`
}

// Failed is the number of statements that ended with an error.
func (f *Figures) Failed() uint64 {
	n := uint64(0)
	for _, count := range f.Errors {
		n += count
	}
	return n
}

// Unanswered is the number of statements that had no outcome of their own.
func (f *Figures) Unanswered() uint64 { return f.Count - f.OK - f.Failed() }

// failures are the statements that the target, or a failure before them, kept
// from success; what was left out on purpose is none.
func (f *Figures) failures() uint64 {
	n := f.Failed()
	for _, class := range []trace.Status{trace.Skipped, trace.Lost} {
		for _, count := range f.Other[class.String()] {
			n += count
		}
	}
	return n
}

func (f *Figures) failedShare() float64 { return float64(f.failures()) / float64(max(f.Count, 1)) }

func (f *Figures) divergedShare() float64 {
	if f.Diverged == nil {
		return 0
	}
	return float64(f.Diverged.Statements) / float64(max(f.Count, 1))
}

// Report compares what was added. The first trace is the baseline.
func (a *Analysis) Report() *Report {
	r := &Report{
		Schema: Schema, Runs: slices.Clone(a.runs), Total: Total{Runs: []Figures{}},
		Fingerprints: []Fingerprint{}, Comparisons: []Comparison{}, Gates: []Gate{}, Warnings: warnings(a.runs),
		Aggregates: append([]aggregate.Run{}, a.aggregates...),
	}
	r.Warnings = append(r.Warnings, marks(a.aggregates)...)
	if a.options.Where != nil {
		r.Where = new(a.options.Where.String())
	}
	if a.options.SkipStart > 0 {
		r.SkipStartS = new(a.options.SkipStart.Seconds())
	}
	for i, f := range a.total {
		r.Total.Runs = append(r.Total.Runs, a.figures(f, i))
	}
	for _, row := range a.index.all() {
		fp := Fingerprint{ID: row.id, SQL: row.sql, Op: row.op, Runs: []Figures{}}
		for i := range a.runs {
			fp.Runs = append(fp.Runs, a.figures(row.in(i), i))
		}
		r.Fingerprints = append(r.Fingerprints, fp)
	}
	a.compare(r)
	slices.SortStableFunc(r.Fingerprints, weightier)
	return r
}

// weightier ranks what failed before what changed, by the time gained or lost,
// before what did not, by its cost.
func weightier(a, b Fingerprint) int {
	classA, timeA := weight(a)
	classB, timeB := weight(b)
	return cmp.Or(cmp.Compare(classA, classB), cmp.Compare(timeB, timeA), costlier(a, b))
}

func weight(f Fingerprint) (class int, us float64) {
	class = 2
	for i := range f.Runs {
		change := f.Runs[i].Change
		switch {
		case change == nil:
		case change.Verdict == Errored:
			class = 0
		case change.Verdict == Improved || change.Verdict == Degraded:
			class, us = min(class, 1), max(us, math.Abs(value(change.TimeUS)))
		}
	}
	return class, us
}

// costlier ranks by the total time of all runs, then by count, then by text,
// so that the order does not depend on how sessions interleaved.
func costlier(a, b Fingerprint) int {
	timeA, countA := cost(a)
	timeB, countB := cost(b)
	return cmp.Or(cmp.Compare(timeB, timeA), cmp.Compare(countB, countA), cmp.Compare(a.SQL, b.SQL))
}

func cost(f Fingerprint) (us float64, count uint64) {
	for i := range f.Runs {
		if s := f.Runs[i].Service; s != nil {
			us += s.Sum
		}
		count += f.Runs[i].Count
	}
	return us, count
}

func (a *Analysis) figures(f *figures, run int) Figures {
	out := Figures{
		Count: f.count, OK: f.ok, Errors: map[string]uint64{}, Other: map[string]map[string]uint64{},
		Rows: f.rows, ReplyBytes: f.bytes, Fetches: f.fetches,
		Service: f.service.latency(), Response: f.response.latency(), Worst: append([]Execution{}, f.worst.all...),
		curve: f.service.curve(),
	}
	for o, n := range f.outcomes {
		if o.status == trace.Error {
			out.Errors[o.reason] += n
			continue
		}
		class := o.status.String()
		if out.Other[class] == nil {
			out.Other[class] = map[string]uint64{}
		}
		out.Other[class][o.reason] += n
	}
	if total := a.total[run].service.sum(); total > 0 {
		out.SharePct = new(100 * f.service.sum() / total)
	}
	if a.runs[run].Source != nil {
		out.Diverged = new(f.diverged)
	}
	return out
}
