package analyze

import (
	"fmt"
	"slices"

	"github.com/retrace-db/retrace/analyze/stat"
)

// comparison is that of one run with the first.
type comparison struct {
	limits
	scratch
	base, run *Run
	paired    bool // the runs hold the same events
	grouped   bool // one of them at least is a group of runs
	why       []string
	changes   []*Change // that have an estimate
}

// compare gives each fingerprint and the total of each run its change against
// the first run, and returns what there is to say of the whole.
func (a *Analysis) compare(r *Report) {
	rows := a.index.all()
	for i := 1; i < len(a.runs); i++ {
		c := &comparison{limits: a.options.limits(), base: &a.runs[0], run: &a.runs[i]}
		c.grouped = len(c.base.Members)+len(c.run.Members) > 0
		c.paired = !c.grouped && origin(c.base) == origin(c.run) && origin(c.run) != ""
		c.why = c.faults(&r.Total.Runs[0], &r.Total.Runs[i])
		for j, row := range rows {
			runs := r.Fingerprints[j].Runs
			c.fingerprint(row.in(0), row.in(i), &runs[0], &runs[i])
		}
		c.decide(c.changes)
		for j := range rows {
			settle(&r.Fingerprints[j].Runs[i])
		}
		r.Total.Runs[i].Change = c.total(r, rows, i)
		r.Comparisons = append(r.Comparisons, c.summary(r, i))
	}
	if len(a.runs) > 1 {
		r.conclude()
	}
}

// conclude says what the second run's verdicts are, which a comparison of two is
// about.
func (r *Report) conclude() {
	r.Total.Change = r.Total.Runs[1].Change
	r.Total.Verdict = &r.Total.Change.Verdict
	r.Verdict = r.Total.Verdict
	for i := range r.Fingerprints {
		f := &r.Fingerprints[i]
		if f.Change = f.Runs[1].Change; f.Change != nil {
			f.Verdict = &f.Change.Verdict
		}
	}
}

// faults are the reasons why a run cannot be compared at all.
func (c *comparison) faults(base, run *Figures) []string {
	why := []string{}
	for _, side := range []struct {
		run *Run
		f   *Figures
	}{{c.base, base}, {c.run, run}} {
		name := side.run.Label
		if side.f.OK == 0 {
			why = append(why, fmt.Sprintf("%s has no statement that succeeded", name))
		}
		if side.run.Valid != nil && !*side.run.Valid {
			why = append(why, fmt.Sprintf("%s is not valid: the replayer itself was late", name))
		}
		if share := side.f.divergedShare(); share > c.diverged {
			why = append(why, fmt.Sprintf("%.3g%% of the statements of %s diverged from the recording, allowed are %g%%", 100*share, name, 100*c.limits.diverged))
		}
	}
	return why
}

// fingerprint compares the statements of one fingerprint. A change that is not a
// matter of latency has its verdict at once, the others wait for all of them.
func (c *comparison) fingerprint(base, run *figures, fb, fr *Figures) {
	if fb.Count == 0 && fr.Count == 0 {
		return
	}
	if verdict, why := c.unfit(fb, fr); verdict != "" {
		fr.Change = &Change{Verdict: verdict, Why: &why, Metric: metricMedian}
		return
	}
	timeUS := new((fr.Service.Mean - fb.Service.Mean) * float64(fr.Service.Count))
	fr.Median, fr.Tail = c.latencies(base, run)
	fr.Median.TimeUS, fr.Change = timeUS, fr.Median
	c.changes = append(c.changes, fr.Median)
	if fr.Tail != nil {
		fr.Tail.TimeUS = timeUS
		c.changes = append(c.changes, fr.Tail)
	}
}

// unfit finds why latencies of two sets of statements should not be compared.
func (c *comparison) unfit(base, run *Figures) (Verdict, string) {
	switch failed := run.failedShare() - base.failedShare(); {
	case run.Count > 0 && base.Count > 0 && failed > c.limits.diverged:
		return Errored, fmt.Sprintf("%s of %s failed or were skipped, %s of %s in %s",
			number(run.failures()), number(run.Count), number(base.failures()), number(base.Count), c.base.Label)
	case len(c.why) > 0:
		return Incomparable, "the runs cannot be compared"
	case base.Count == 0:
		return Incomparable, "not in " + c.base.Label
	case run.Count == 0:
		return Incomparable, "not in " + c.run.Label
	case base.OK == 0:
		return Incomparable, "none succeeded in " + c.base.Label
	case run.OK == 0:
		return Incomparable, "none succeeded in " + c.run.Label
	case max(base.divergedShare(), run.divergedShare()) > c.limits.diverged:
		return Incomparable, fmt.Sprintf("%.3g%% diverged from the recording, allowed are %g%%", 100*max(base.divergedShare(), run.divergedShare()), 100*c.limits.diverged)
	default:
		return "", ""
	}
}

// latencies compares the medians and, where there are enough, the tails.
func (c *comparison) latencies(base, run *figures) (median, tail *Change) {
	if c.grouped {
		a, b := base.each(), run.each()
		median = c.byRuns(metricMedian, a, b, func(o once) float64 { return o.median })
		if knowTails(a) && knowTails(b) {
			tail = c.byRuns(metricTail, a, b, func(o once) float64 { return o.tail })
		}
		return median, tail
	}
	median = c.median(&base.sketch, &run.sketch)
	if min(len(base.sketch.samples), len(run.sketch.samples)) >= tailFrom {
		tail = c.tail(&base.sketch, &run.sketch)
	}
	return median, tail
}

func (c *comparison) median(base, run *sketch) *Change {
	if c.paired {
		return newChange(metricMedian, byPairs, stat.Median(c.ratios(base, run, &c.base.clock), c.confidence))
	}
	c.scratch.base, c.scratch.run = logs(c.scratch.base, base, &c.base.clock), logs(c.scratch.run, run, &c.run.clock)
	return newChange(metricMedian, byWindows, stat.Samples(stat.Medians(c.scratch.base), stat.Medians(c.scratch.run), c.confidence))
}

func (c *comparison) tail(base, run *sketch) *Change {
	c.scratch.base, c.scratch.run = logs(c.scratch.base, base, &c.base.clock), logs(c.scratch.run, run, &c.run.clock)
	return newChange(metricTail, byWindows, stat.Quantile(c.scratch.base, c.scratch.run, 0.99, c.confidence))
}

// settle makes the tail's verdict that of the statements where it is worse than
// the median's, or all there is: what one in a hundred users waits for is no
// detail.
func settle(f *Figures) {
	if f.Tail == nil || f.Median.Verdict == Degraded {
		return
	}
	if f.Tail.Verdict == Degraded || f.Tail.Verdict == Improved && f.Median.Verdict != Improved {
		f.Change = f.Tail
	}
}

// summary is the headline of a comparison.
func (c *comparison) summary(r *Report, run int) Comparison {
	s := Comparison{Run: c.run.Label, Baseline: c.base.Label, Why: c.why, Fingerprints: map[Verdict]int{}}
	s.Verdict = r.Total.Runs[run].Change.Verdict
	for i := range r.Fingerprints {
		if change := r.Fingerprints[i].Runs[run].Change; change != nil {
			s.Fingerprints[change.Verdict]++
		}
	}
	s.NewErrors, s.GoneErrors = errorChanges(r.Total.Runs[0].Errors, r.Total.Runs[run].Errors)
	return s
}

func errorChanges(base, run map[string]uint64) (fresh, gone []string) {
	fresh, gone = []string{}, []string{}
	for code := range run {
		if base[code] == 0 {
			fresh = append(fresh, code)
		}
	}
	for code := range base {
		if run[code] == 0 {
			gone = append(gone, code)
		}
	}
	slices.Sort(fresh)
	slices.Sort(gone)
	return fresh, gone
}
