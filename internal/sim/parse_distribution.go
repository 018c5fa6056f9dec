package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDistribution reads how long statements take:
//
//	2ms or const(2ms)      always
//	uniform(1ms,3ms)       evenly between
//	exp(2ms)               exponential, by its mean
//	normal(2ms,0.3ms)      mean and standard deviation, cut off at 0
//	lognormal(2ms,0.5)     median, and sigma of the logarithm
//	pareto(1ms,2)          least value and alpha
//	2ms+1%:50ms            a mixture: 1 % take 50 ms, the others 2 ms
//
// Each part of a mixture may be any of these; one at most has no share.
func ParseDistribution(text string) (Distribution, error) {
	terms := strings.Split(text, "+")
	if len(terms) == 1 && !strings.Contains(text, "%") {
		return parseTerm(text)
	}
	var m mixture
	left, rests := 1.0, 0
	for _, term := range terms {
		p, err := parsePart(term)
		if err != nil {
			return nil, err
		}
		left -= p.share
		if p.rest {
			rests++
		}
		m = append(m, p)
	}
	if rests > 1 {
		return nil, fmt.Errorf("%q: more than one part has no share such as 1%%:", text)
	}
	if left < -1e-9 || rests == 0 && left > 1e-9 || rests == 1 && left < 1e-9 {
		return nil, fmt.Errorf("%q: the shares do not add up to 100%%", text)
	}
	for i := range m {
		if m[i].rest {
			m[i].share = left
		}
	}
	return m, nil
}

func parsePart(term string) (part, error) {
	share, form, shared := strings.Cut(term, ":")
	if !shared {
		d, err := parseTerm(term)
		return part{d: d, rest: true}, err
	}
	s, err := parseShare(share)
	if err != nil {
		return part{}, err
	}
	d, err := parseTerm(form)
	return part{share: s, d: d}, err
}

// parseShare reads 2% as 0.02.
func parseShare(text string) (float64, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || math.IsNaN(v) || v <= 0 || v > 100 {
		return 0, fmt.Errorf("%q is not a share such as 2%%", text)
	}
	return v / 100, nil
}

func parseTerm(text string) (Distribution, error) {
	text = strings.TrimSpace(text)
	name, rest, called := strings.Cut(text, "(")
	if !called {
		d, err := parseDuration(text)
		return constant{d}, err
	}
	inside, closed := strings.CutSuffix(rest, ")")
	args := strings.Split(inside, ",")
	want, known := arguments[name]
	switch {
	case !known:
		return nil, fmt.Errorf("%q: there is no distribution %q: there are const, uniform, exp, normal, lognormal, pareto", text, name)
	case !closed || len(args) != len(want):
		return nil, fmt.Errorf("%q: write %s(%s)", text, name, strings.Join(want, ","))
	}
	d, err := build(name, args)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return d, nil
}

// arguments show how each distribution is written.
var arguments = map[string][]string{
	"const": {"2ms"}, "uniform": {"1ms", "3ms"}, "exp": {"2ms"}, "normal": {"2ms", "0.3ms"},
	"lognormal": {"2ms", "0.5"}, "pareto": {"1ms", "2"},
}

func build(name string, args []string) (Distribution, error) {
	first, err := parseDuration(args[0])
	if err != nil {
		return nil, err
	}
	switch name {
	case "const":
		return constant{first}, nil
	case "exp":
		return exponential{first}, nil
	case "lognormal":
		sigma, err := positive(args[1])
		return lognormal{first, sigma}, err
	case "pareto":
		alpha, err := positive(args[1])
		return pareto{first, alpha}, err
	}
	second, err := parseDuration(args[1])
	if name == "normal" || err != nil {
		return normal{first, second}, err
	}
	if second < first {
		return nil, fmt.Errorf("%s is less than %s", second, first)
	}
	return uniform{first, second}, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < 0 || d > longest {
		return 0, fmt.Errorf("%q is not a time such as 2ms, of %s at most", text, longest)
	}
	return d, nil
}

func positive(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(v > 0) || v > 100 {
		return 0, fmt.Errorf("%q is not a number above 0 and up to 100", text)
	}
	return v, nil
}
