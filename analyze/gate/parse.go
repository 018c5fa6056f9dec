// Package gate is the language of --fail-if: conditions on a report under which a
// job must fail. The README's section "Gates" says what it means.
package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrace-db/retrace/analyze"
)

// Gate is one condition.
type Gate struct {
	text        string
	run         string // label; "": every run that is compared, or the only one
	fingerprint string // id
	any         bool   // each fingerprint instead of all statements together
	verdict     analyze.Verdict
	metric      metric
	below       bool // it fails below the value, not above
	orEqual     bool
	value       float64 // µs, a number, a share or a change, all in the metric's unit or percent
	relative    bool    // a change in percent against the first run
	share       bool    // percent of statements
}

func (g *Gate) String() string { return g.text }

// Relative tells whether it needs a run to compare with.
func (g *Gate) Relative() bool { return g.relative || g.verdict != "" }

// Run is the label of the run it is about, if it names one.
func (g *Gate) Run() string { return g.run }

// Parse reads a condition.
func Parse(text string) (*Gate, error) {
	g := &Gate{text: strings.Join(strings.Fields(text), " ")}
	at := strings.IndexAny(g.text, "<>")
	words := strings.Fields(g.text)
	if at >= 0 {
		words = strings.Fields(g.text[:at])
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("%q: a condition is such as 'p99 > +10%%' or 'any degraded'", text)
	}
	last := len(words) - 1
	if err := g.scope(words[:last]); err != nil {
		return nil, err
	}
	if at < 0 {
		return g, g.isVerdict(words[last])
	}
	return g, g.comparison(words[last], g.text[at:])
}

func (g *Gate) scope(words []string) error {
	seen := map[string]bool{}
	once := func(what, word string) error {
		if seen[what] {
			return fmt.Errorf("%q: %q is one %s too many", g.text, word, what)
		}
		seen[what] = true
		return nil
	}
	for _, w := range words {
		key, name, named := strings.Cut(w, ":")
		what := "scope"
		switch {
		case w == "any":
			g.any = true
		case w == "total":
		case named && key == "fingerprint" && name != "":
			g.fingerprint = name
		case named && key == "run" && name != "":
			g.run, what = name, "run"
		default:
			return fmt.Errorf("%q: %q is no scope: any, total, fingerprint:ID, run:LABEL", g.text, w)
		}
		if err := once(what, w); err != nil {
			return err
		}
	}
	return nil
}

var verdicts = []analyze.Verdict{
	analyze.Degraded, analyze.Errored, analyze.Indeterminate, analyze.Incomparable, analyze.Improved, analyze.Same,
}

func (g *Gate) isVerdict(word string) error {
	g.verdict = analyze.Verdict(word)
	if slices.Contains(verdicts, g.verdict) {
		return nil
	}
	if _, ok := metrics[word]; ok {
		return fmt.Errorf("%q: %s needs a comparison, such as %s > 10ms or %s > +10%%", g.text, word, word, word)
	}
	return fmt.Errorf("%q: %q is neither a verdict (degraded, errored, …) nor a comparison such as p99 > 10ms", g.text, word)
}

func (g *Gate) comparison(word, rest string) error {
	m, ok := metrics[word]
	if !ok {
		return fmt.Errorf("%q: %q is no metric: %s", g.text, word, metricNames())
	}
	g.metric = m
	g.below = rest[0] == '<'
	rest, g.orEqual = strings.CutPrefix(rest[1:], "=")
	return g.number(strings.TrimSpace(rest))
}

// number reads +10%, -10%, 1%, 10ms, 100/s or 3, as the metric allows.
func (g *Gate) number(s string) error {
	bad := func(want string) error { return fmt.Errorf("%q: %q is no value for it: %s", g.text, s, want) }
	if number, ok := strings.CutSuffix(s, "%"); ok {
		v, err := plain(number)
		signed := strings.HasPrefix(number, "+") || strings.HasPrefix(number, "-")
		switch {
		case err != nil:
			return bad("a percentage such as +10%")
		case signed:
			g.value, g.relative = v, true
		case g.metric.unit == failures && v <= 100:
			g.value, g.share = v, true
		default:
			return bad("a change against the first run has a sign, such as +10%")
		}
		return nil
	}
	var err error
	switch g.metric.unit {
	case times:
		var d time.Duration
		d, err = time.ParseDuration(s)
		g.value = float64(d) / 1e3
	case failures:
		g.value, err = plain(s)
	case rates:
		number, perSecond := strings.CutSuffix(s, "/s")
		if !perSecond {
			return bad(g.metric.example)
		}
		g.value, err = plain(number)
	}
	if err != nil || g.value < 0 || strings.HasPrefix(s, "+") {
		return bad(g.metric.example)
	}
	return nil
}

// plain reads a decimal number.
func plain(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(s, "xXpP_")) {
		err = strconv.ErrSyntax
	}
	return v, err
}
