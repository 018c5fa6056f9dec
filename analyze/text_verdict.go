package analyze

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// verdictOrder is the one in which verdicts are told: the bad news first.
var verdictOrder = []Verdict{Errored, Degraded, Improved, Same, Indeterminate, Incomparable}

// verdicts are the sentences for who reads no further, one for each comparison.
func (p *page) verdicts() {
	for i := range p.r.Comparisons {
		c := &p.r.Comparisons[i]
		p.wrapped("", fmt.Sprintf("%s against %s: %s", p.label(i+1), p.label(0), p.sentence(c, p.r.Total.Runs[i+1].Change)))
		if len(c.NewErrors) > 0 {
			p.wrapped("  ", "new errors: "+p.codes(c.NewErrors, p.r.Total.Runs[i+1].Errors))
		}
		if len(c.GoneErrors) > 0 {
			p.wrapped("  ", "errors that are gone: "+p.codes(c.GoneErrors, p.r.Total.Runs[0].Errors))
		}
	}
}

// gates says which conditions failed, and why.
func (p *page) gates() {
	for _, g := range p.r.Gates {
		if !g.Failed {
			p.wrapped("", fmt.Sprintf("holds: not %s", p.Escape(g.Condition)))
			continue
		}
		p.wrapped("", "FAILED: "+p.Escape(g.Condition))
		for _, why := range g.Why[:min(len(g.Why), p.Top)] {
			p.wrapped("  ", p.Escape(why))
		}
		if left := len(g.Why) - p.Top; left > 0 {
			p.line("  … and %s more", number(uint64(left)))
		}
	}
}

func (p *page) sentence(c *Comparison, total *Change) string {
	var s string
	switch {
	case len(c.Why) > 0:
		s = "NOT COMPARABLE: " + p.Escape(strings.Join(c.Why, "; "))
	case total.Pct == nil:
		s = strings.ToUpper(string(total.Verdict)) + ": " + p.Escape(value(total.Why))
	default:
		s = fmt.Sprintf("%s: all statements together take %s", strings.ToUpper(string(total.Verdict)), p.amount(total))
		if total.TimeUS != nil {
			s += inTotal(*total.Pct, *total.TimeUS, "in the mix of statements that it has itself")
		}
		if total.Verdict == Indeterminate {
			s += ": " + p.Escape(value(total.Why))
		}
	}
	var parts []string
	for _, v := range verdictOrder {
		if n := c.Fingerprints[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", number(uint64(n)), v))
		}
	}
	if len(parts) == 0 || len(c.Why) > 0 {
		return s
	}
	return s + "; of the fingerprints " + strings.Join(parts, ", ")
}

// codes are error codes with their numbers.
func (p *page) codes(codes []string, counts map[string]uint64) string {
	parts := make([]string, 0, len(codes))
	for _, code := range codes {
		parts = append(parts, fmt.Sprintf("%s (%s)", p.Escape(code), number(counts[code])))
	}
	return strings.Join(parts, ", ")
}

// changes are the verdicts on the statements of one fingerprint.
func (p *page) changes(runs []Figures) {
	for i := 1; i < len(runs); i++ {
		f := &runs[i]
		if f.Change == nil || f.Change.Verdict == Incomparable && len(p.r.Comparisons[i-1].Why) > 0 {
			continue // or the headline has said it
		}
		s := fmt.Sprintf("%s %s", p.label(i), f.Change.Verdict)
		switch {
		case f.Median == nil:
			s += ": " + p.Escape(value(f.Change.Why))
		case f.Change == f.Tail:
			s += fmt.Sprintf(": p99 %s; median %s", p.amount(f.Tail), p.amount(f.Median))
		default:
			s += ": median " + p.amount(f.Median)
		}
		if f.Change.Verdict == Indeterminate {
			s += ": " + p.Escape(value(f.Change.Why))
		}
		if f.Change.TimeUS != nil && (f.Change.Verdict == Improved || f.Change.Verdict == Degraded) {
			s += inTotal(value(f.Change.Pct), *f.Change.TimeUS, f.meanAgainst())
		}
		p.wrapped("  ", s)
	}
}

// amount is a change with its interval and what stands behind it.
func (p *page) amount(c *Change) string {
	s := "-"
	if c.Pct != nil {
		s = change(*c.Pct)
	}
	behind := plural(uint64(value(c.Blocks)), "window")
	if value(c.By) == byRuns {
		behind = plural(uint64(value(c.Blocks)), "run") + " a side"
	}
	if c.Pairs != nil {
		behind = plural(*c.Pairs, "pair")
	}
	if c.CI == nil {
		return fmt.Sprintf("%s (%s)", s, behind)
	}
	return fmt.Sprintf("%s (%s … %s, %s)", s, change(c.CI[0]), change(c.CI[1]), behind)
}

// inTotal is the time that a change gains or loses. Where that goes the other way
// than the change itself, it says why that can be.
func inTotal(pct, us float64, but string) string {
	switch {
	case us == 0:
		return ""
	case (pct < 0) == (us < 0) || pct == 0:
		return ", " + gain(us)
	case us < 0:
		return fmt.Sprintf("; yet the total time fell by %s (%s)", Duration(-us), but)
	default:
		return fmt.Sprintf("; yet the total time rose by %s (%s)", Duration(us), but)
	}
}

// meanAgainst explains a total time, which goes with the mean, that contradicts
// the change of the median or the tail.
func (f *Figures) meanAgainst() string {
	switch tail := f.Change == f.Tail; {
	case tail:
		return "the mean went the other way than the p99"
	case value(f.Change.Pct) < 0:
		return "most executions are faster, but some are slower by more"
	default:
		return "most executions are slower, but some are faster by more"
	}
}

func gain(us float64) string {
	if us < 0 {
		return Duration(-us) + " gained"
	}
	return Duration(us) + " lost"
}

func (p *page) order() string {
	if len(p.r.Comparisons) == 0 {
		return "Statements, the costliest first"
	}
	return "Statements: errored, then by time gained or lost, then the costliest"
}

// wrapped writes a line that may be too long for one.
func (p *page) wrapped(indent, s string) {
	for i, l := range strings.Split(text.WrapSoft(s, p.Width-len(indent)-2), "\n") {
		if i == 1 {
			indent += "  "
		}
		p.line("%s%s", indent, strings.TrimLeft(l, " "))
	}
}
