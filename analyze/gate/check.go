package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/retrace-db/retrace/analyze"
)

// Check tries the condition on a report. What cannot be told, because there is
// no such figure or the runs cannot be compared, fails: a gate that nobody
// watches must not stand open.
func (g *Gate) Check(r *analyze.Report) analyze.Gate {
	result := analyze.Gate{Condition: g.text, Why: []string{}}
	runs := g.runs(r)
	if len(runs) == 0 {
		result.Why = append(result.Why, "there is no such run")
	}
	for _, run := range runs {
		result.Why = append(result.Why, g.check(r, run)...)
	}
	result.Failed = len(result.Why) > 0
	return result
}

// runs are those it is about: the baseline is not, unless it is named or alone.
func (g *Gate) runs(r *analyze.Report) (runs []int) {
	for i := range r.Runs {
		named := g.run == r.Runs[i].Label
		if named && (i > 0 || !g.Relative()) || g.run == "" && (i > 0 || len(r.Runs) == 1) {
			runs = append(runs, i)
		}
	}
	return runs
}

func (g *Gate) check(r *analyze.Report, run int) []string {
	label := r.Runs[run].Label
	if run == 0 && g.Relative() {
		return []string{label + " has nothing to be compared with"}
	}
	if run > 0 && g.Relative() && len(r.Comparisons[run-1].Why) > 0 && g.verdict != analyze.Incomparable {
		return []string{fmt.Sprintf("%s cannot be compared: %s", label, r.Comparisons[run-1].Why[0])}
	}
	if !g.any && g.fingerprint == "" {
		why, told := g.on(r, r.Total.Runs, run, label)
		return untold(why, told, label)
	}
	var all []string
	toldAny := false
	for i := range r.Fingerprints {
		f := &r.Fingerprints[i]
		if g.fingerprint != "" && f.ID != g.fingerprint {
			continue
		}
		why, told := g.on(r, f.Runs, run, fmt.Sprintf("%s, fingerprint %s", label, f.ID))
		all, toldAny = append(all, why...), toldAny || told
	}
	return untold(all, toldAny, label)
}

// untold says that a condition could not be tried at all.
func untold(why []string, told bool, label string) []string {
	if told {
		return why
	}
	return []string{label + " has no such figure"}
}

// on tries the condition on some statements; told is false where they have no
// figure for it.
func (g *Gate) on(r *analyze.Report, runs []analyze.Figures, run int, name string) (why []string, told bool) {
	f := &runs[run]
	if g.verdict != "" {
		if f.Change == nil {
			return nil, false
		}
		v := f.Change.Verdict
		if v == g.verdict || g.verdict == analyze.Degraded && v == analyze.Errored {
			why = append(why, fmt.Sprintf("%s is %s", name, v))
		}
		return why, true
	}
	got, ok := g.metric.of(f, &r.Runs[run])
	if f.Count == 0 && !g.share || !ok {
		return nil, false
	}
	said := g.figure(got)
	switch {
	case g.share:
		got = 100 * got / float64(max(f.Count, 1))
		said = fmt.Sprintf("%.3g%%", got)
	case g.relative:
		base, ok := g.metric.of(&runs[0], &r.Runs[0])
		if !ok || runs[0].Count == 0 {
			return nil, false
		}
		got = growth(base, got)
		said = fmt.Sprintf("%+.1f%%, from %s to %s", got, g.figure(base), said)
	}
	if g.trips(got) {
		why = append(why, fmt.Sprintf("%s: %s %s", name, g.metric.name, said))
	}
	return why, true
}

func (g *Gate) trips(got float64) bool {
	switch {
	case got == g.value:
		return g.orEqual
	case g.below:
		return got < g.value
	default:
		return got > g.value
	}
}

// growth is a change in percent; what grows from nothing grows without bound.
func growth(base, got float64) float64 {
	if base == got {
		return 0
	}
	if base == 0 {
		return math.Inf(1)
	}
	return 100 * (got/base - 1)
}

// figure is a figure with its unit.
func (g *Gate) figure(v float64) string {
	switch g.metric.unit {
	case times:
		return analyze.Duration(v)
	case rates:
		return fmt.Sprintf("%.4g/s", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// Check tries conditions on a report and writes into it what came of them. It
// says whether all hold.
func Check(gates []*Gate, r *analyze.Report) bool {
	for _, g := range gates {
		r.Gates = append(r.Gates, g.Check(r))
	}
	return !slices.ContainsFunc(r.Gates, func(g analyze.Gate) bool { return g.Failed })
}
