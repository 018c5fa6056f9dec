package aggregate

import (
	"errors"
	"regexp"
	"strings"
)

// sysbench reads the report of 0.5, 1.0 and 1.1, and the lines of
// --report-interval where there is none.
type sysbench struct {
	r       Run
	all     Figure
	queries float64
	done    bool
	percent string // which percentile there is
	grid    Mark

	until    float64
	progress mean // tps, by seconds
}

var (
	sysbenchProgress = regexp.MustCompile(`^\[ *([\d.]+)s *\] (?:thds|threads): (\d+),? (?:tps|eps): ([\d.]+)`)
	sysbenchVersion  = regexp.MustCompile(`^sysbench (\d[\w.-]*)`)
	sysbenchFigure   = regexp.MustCompile(`^(transactions|queries|ignored errors|total time|time elapsed|total number of events|Number of threads|min|avg|max|read/write requests|other operations|(?:approx\. +)?([\d.]+)(?:th)? percentile): +([\d.]+)`)
)

func sysbenchSign(line string) bool {
	return sysbenchProgress.MatchString(line) || sysbenchVersion.MatchString(line) && strings.Contains(line, ":") || sysbenchVersion.MatchString(line) && strings.Contains(line, "(using")
}

func (p *sysbench) line(s string) error {
	s = strings.TrimSpace(s)
	if m := sysbenchVersion.FindStringSubmatch(s); m != nil {
		p.r.Version = new(strings.TrimRight(m[1], ".:"))
		return nil
	}
	if m := sysbenchProgress.FindStringSubmatch(s); m != nil {
		return p.interval(m)
	}
	m := sysbenchFigure.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	v, err := number(m[3])
	if err != nil {
		return err
	}
	return p.figure(m[1], m[2], v)
}

func (p *sysbench) figure(what, percent string, v float64) error {
	l := &p.all.Latency
	switch what {
	case "Number of threads":
		p.r.Clients = count(v)
	case "queries", "read/write requests", "other operations": // the last two are what 0.5 has
		p.queries += v
	case "ignored errors":
		p.all.Errors = count(v)
	case "total time", "time elapsed":
		p.r.SpanS = &v
	case "total number of events":
		if p.done {
			return errSecond
		}
		p.done, p.all.Count = true, count(v)
	case "min":
		l.Min = millis(v)
	case "avg":
		l.Mean = millis(v)
	case "max":
		l.Max = millis(v)
	default:
		if percent != "" && v > 0 { // 0: not computed
			p.percent, p.grid = percent, markGrid
			l.Percentiles = map[string]float64{percent: *millis(v)}
		}
	}
	return nil
}

func (p *sysbench) interval(m []string) error {
	v, err := numbers(m[1], m[2], m[3])
	if err != nil {
		return err
	}
	if v[0] <= p.until {
		return errSecond
	}
	p.r.Clients = count(v[1])
	p.progress.add(v[2], v[0]-p.until)
	p.until = v[0]
	return nil
}

func (p *sysbench) run() (*Run, error) {
	p.r.Tool, p.all.Of, p.all.Unit = "sysbench", "all", Transaction
	switch {
	case p.done && p.all.Count != nil && *p.all.Count > 0:
		if p.queries == float64(*p.all.Count) {
			p.all.Unit = Statement
		}
		if p.r.SpanS != nil && *p.r.SpanS > 0 {
			p.all.PerS = new(float64(*p.all.Count) / *p.r.SpanS)
		}
		if p.percent != "" {
			if p.r.Version != nil && strings.HasPrefix(*p.r.Version, "0.") {
				p.grid = markGrid05
			}
			p.r.Marks = append(p.r.Marks, p.grid)
		}
	case !p.done && p.progress.sum > 0:
		p.r.SpanS, p.all.PerS, p.all.Latency = &p.until, p.progress.value(), Latency{}
		p.r.Marks = append(p.r.Marks, markPartial)
	default:
		return nil, errors.New("sysbench reports no event")
	}
	p.r.Figures = []Figure{p.all}
	return &p.r, nil
}
