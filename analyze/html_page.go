package analyze

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// view is what the page shows without a script.
type view struct {
	Title, Subtitle, Policy, Footer, LeftOut string
	Style                                    template.CSS
	Script, Data                             template.JS
	Headlines                                []headline
	Gates                                    []gateView
	Runs                                     []runView
	Checks                                   []check
	Warnings                                 []string
	Beside                                   [][]string // other tools' figures, under a header
	Percentiles                              []string   // of those
}

type headline struct {
	Verdict, Sentence string
	More              []string
	Causes            []cause
}

// cause is a fingerprint that stands behind a verdict.
type cause struct{ ID, SQL, Verdict, Amount string }

type gateView struct {
	Verdict, Condition string
	Why                []string
}

type runView struct {
	Label, MadeBy, On, Began string
	Color                    int
	Cells, Response          []string
}

// check is one question to each run.
type check struct {
	Name  string
	Cells []state
}

type state struct{ State, Text string } // State: good, warn, bad or nothing

const (
	maxCauses = 5
	causeText = 200
	runColors = 8
)

func (h HTML) view(r *Report) *view {
	p := h.words(r)
	v := &view{Footer: "Made by retrace analyze. It holds normalised statements, no values. How verdicts come about stands in the README under Comparing."}
	v.Title, v.Subtitle = titles(p)
	if len(r.Comparisons) == 0 {
		v.Headlines = append(v.Headlines, p.alone())
	}
	for i := range r.Comparisons {
		v.Headlines = append(v.Headlines, p.compared(i))
	}
	for _, g := range r.Gates {
		v.Gates = append(v.Gates, p.gateView(g))
	}
	for i := range r.Runs {
		v.Runs = append(v.Runs, p.runView(i))
	}
	v.Checks = p.checks()
	v.Beside, v.Percentiles = p.beside(), p.otherPercentiles()
	for _, w := range r.Warnings {
		v.Warnings = append(v.Warnings, h.Escape(strings.Join(w.Runs, ", ")+": "+w.Text))
	}
	return v
}

func titles(p *page) (title, subtitle string) {
	title = "Report"
	switch len(p.labels) {
	case 0:
	case 1:
		title = p.labels[0]
	case 2:
		title = p.labels[1] + " against " + p.labels[0]
	default:
		title = fmt.Sprintf("%d runs against %s", len(p.labels)-1, p.labels[0])
	}
	subtitle = fmt.Sprintf("retrace: what %s cost", plural(uint64(len(p.r.Fingerprints)), "different statement"))
	if p.r.Where != nil {
		subtitle += ", of those where " + p.Escape(*p.r.Where)
	}
	return title, subtitle
}

// alone is the headline of a single run: what it spent its time on.
func (p *page) alone() headline {
	l := headline{Verdict: "report"}
	p.headline()
	if said := p.taken(); len(said) > 0 {
		l.Sentence = said[0]
	}
	for i := range p.r.Fingerprints[:min(maxCauses, len(p.r.Fingerprints))] {
		f := &p.r.Fingerprints[i]
		amount := fmt.Sprintf("%s of the time, %s", share(f.Runs[0].SharePct), plural(f.Runs[0].Count, "execution"))
		if s := f.Runs[0].Service; s != nil {
			amount += fmt.Sprintf(", median %s, p99 %s", Duration(s.P50), Duration(s.P99))
		}
		l.Causes = append(l.Causes, cause{f.ID, cut(p.Escape(f.SQL), causeText), cmp.Or(f.Op, "other"), amount})
	}
	return l
}

// compared is the headline of a comparison: the verdict, and the fingerprints
// that are why.
func (p *page) compared(i int) headline {
	c, run := &p.r.Comparisons[i], i+1
	total := &p.r.Total.Runs[run]
	l := headline{Verdict: string(c.Verdict)}
	_, sentence, _ := strings.Cut(p.sentence(c, total.Change), ": ")
	l.Sentence = fmt.Sprintf("%s against %s: %s", p.label(run), p.label(0), sentence)
	if len(c.NewErrors) > 0 {
		l.More = append(l.More, "New errors: "+p.codes(c.NewErrors, total.Errors))
	}
	if len(c.GoneErrors) > 0 {
		l.More = append(l.More, "Errors that are gone: "+p.codes(c.GoneErrors, p.r.Total.Runs[0].Errors))
	}
	for j := range p.r.Fingerprints {
		f := &p.r.Fingerprints[j]
		change := f.Runs[run].Change
		if len(l.Causes) == maxCauses {
			break
		}
		if change == nil || change.Verdict != Errored && change.Verdict != Degraded && change.Verdict != Improved {
			continue
		}
		l.Causes = append(l.Causes, cause{f.ID, cut(p.Escape(f.SQL), causeText), string(change.Verdict), p.because(change)})
	}
	return l
}

func (p *page) because(c *Change) string {
	if c.Pct == nil {
		return p.Escape(value(c.Why))
	}
	s := strings.TrimPrefix(c.Metric, "service_") + " " + p.amount(c)
	if us := value(c.TimeUS); us != 0 {
		s += ", " + gain(us)
	}
	return s
}

func (p *page) gateView(g Gate) gateView {
	v := gateView{Verdict: "holds", Condition: "not " + p.Escape(g.Condition)}
	if g.Failed {
		v.Verdict, v.Condition = "failed", p.Escape(g.Condition)
	}
	for _, why := range g.Why[:min(len(g.Why), p.Top)] {
		v.Why = append(v.Why, p.Escape(why))
	}
	return v
}

func (p *page) runView(i int) runView {
	r, f := &p.r.Runs[i], &p.r.Total.Runs[i]
	version, _, _ := strings.Cut(r.EngineVersion, " ") // without the packager's remarks
	v := runView{Label: p.label(i), MadeBy: p.Escape(p.how(r)), On: p.Escape(strings.TrimSpace(r.Engine + " " + version)), Began: p.Escape(began(r.Started)), Color: i % runColors}
	span := "–"
	if r.SpanS != nil {
		span = Duration(*r.SpanS * 1e6)
	}
	v.Cells = append([]string{span, number(r.Sessions), number(r.Statements), rate(r.StatementsPerS)}, spread(f.Service)...)
	v.Cells = append(v.Cells, number(f.Failed()))
	if f.Response != nil {
		v.Response = spread(f.Response)
	}
	return v
}

// checks are what must hold for the figures to mean what they say.
func (p *page) checks() []check {
	all := []check{
		{Name: "Every statement is accounted for"},
		{Name: "Nothing was dropped while recording"},
		{Name: "Read to its end"},
		{Name: "retrace kept the schedule"},
		{Name: "The target kept up with it"},
		{Name: "Outcomes are the recorded ones"},
	}
	for i := range p.r.Runs {
		r, f := &p.r.Runs[i], &p.r.Total.Runs[i]
		for j, of := range []func(*Run, *Figures) state{accounted, dropped, readWhole, onSchedule, held, alike} {
			all[j].Cells = append(all[j].Cells, of(r, f))
		}
	}
	return all
}

func accounted(_ *Run, f *Figures) state {
	sum, parts := f.OK+f.Failed(), []string{number(f.OK) + " ok", plural(f.Failed(), "error")}
	for _, class := range []trace.Status{trace.Skipped, trace.Filtered, trace.Lost, trace.Unsent} {
		n := uint64(0)
		for _, count := range f.Other[class.String()] {
			n += count
		}
		if sum += n; n > 0 {
			parts = append(parts, number(n)+" "+class.String())
		}
	}
	if sum != f.Count {
		return state{"bad", fmt.Sprintf("no: %s is not %s", number(f.Count), strings.Join(parts, " + "))}
	}
	return state{"good", fmt.Sprintf("yes: %s = %s", number(f.Count), strings.Join(parts, " + "))}
}

func dropped(r *Run, _ *Figures) state {
	switch {
	case r.Gaps > 0:
		return state{"bad", fmt.Sprintf("no: %s missing in %s", plural(r.Missing, "event"), plural(r.Gaps, "gap"))}
	case r.LeftOut > 0:
		return state{"warn", fmt.Sprintf("%s left out on purpose", plural(r.LeftOut, "event"))}
	default:
		return state{"good", "yes"}
	}
}

func readWhole(r *Run, _ *Figures) state {
	switch {
	case len(r.Damage) > 0:
		return state{"bad", fmt.Sprintf("no: damaged in %s", plural(uint64(len(r.Damage)), "place"))}
	case !r.Complete:
		return state{"bad", "no"}
	default:
		return state{"good", "yes"}
	}
}

func onSchedule(r *Run, _ *Figures) state {
	if r.Valid == nil {
		return state{"", "no schedule"}
	}
	late := fmt.Sprintf("schedule error p50 %s, p99 %s, at most %s", Duration(r.ScheduleError.P50), Duration(r.ScheduleError.P99), Duration(r.ScheduleError.Max))
	if !*r.Valid {
		return state{"bad", "not valid: " + late}
	}
	return state{"good", "yes: " + late}
}

func held(r *Run, _ *Figures) state {
	if r.KeptUp == nil {
		return state{"", "no schedule"}
	}
	waited := fmt.Sprintf("requests waited for earlier replies p99 %s, at most %s", Duration(r.Busy.P99), Duration(r.Busy.Max))
	if !*r.KeptUp {
		return state{"warn", "no: " + waited}
	}
	return state{"good", "yes: " + waited}
}

func alike(_ *Run, f *Figures) state {
	switch {
	case f.Diverged == nil:
		return state{"", "a recording"}
	case f.Diverged.Statements == 0:
		return state{"good", "yes"}
	default:
		d := f.Diverged
		return state{"warn", fmt.Sprintf("no: %s of them (%.2g%%) diverged: status %s, rows %s, result %s",
			number(d.Statements), 100*f.divergedShare(), number(d.Status), number(d.Rows), number(d.Result))}
	}
}

// began is a time to the second, in UTC as in the trace.
func began(started string) string {
	t, err := time.Parse(time.RFC3339Nano, started)
	if err != nil {
		return started
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}
