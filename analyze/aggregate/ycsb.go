package aggregate

import (
	"errors"
	"regexp"
	"strings"
)

// ycsb reads the summary, and the lines of -s where there is none.
type ycsb struct {
	r       Run
	overall Figure
	order   []string
	ops     map[string]*Figure
	done    bool
	until   float64
}

var (
	ycsbSummary    = regexp.MustCompile(`^\[([A-Z][A-Z-]*)\], ([^,]+), ([\d.]+(?:[eE]\d+)?)`)
	ycsbStatus     = regexp.MustCompile(`(?:^|\s)(\d+) sec: (\d+) operations;`)
	ycsbPercentile = regexp.MustCompile(`^([\d.]+)(?:st|nd|rd|th)?PercentileLatency\(us\)$`)
)

func newYCSB() *ycsb { return &ycsb{ops: map[string]*Figure{}} }

func ycsbSign(line string) bool {
	return strings.HasPrefix(line, "[OVERALL], ") || ycsbStatus.MatchString(line)
}

func (p *ycsb) line(s string) error {
	s = strings.TrimSpace(s)
	if m := ycsbStatus.FindStringSubmatch(s); m != nil {
		return p.status(m)
	}
	m := ycsbSummary.FindStringSubmatch(s)
	if m == nil || m[1] == "CLEANUP" { // closing connections is no operation
		return nil
	}
	v, err := number(m[3])
	if err != nil {
		return err
	}
	if m[1] == "OVERALL" {
		return p.whole(m[2], v)
	}
	return p.operation(m[1], m[2], v)
}

func (p *ycsb) whole(what string, v float64) error {
	switch what {
	case "RunTime(ms)":
		if p.done {
			return errSecond
		}
		p.done, p.r.SpanS = true, new(v/1e3)
	case "Throughput(ops/sec)":
		p.overall.PerS = &v
	}
	return nil
}

func (p *ycsb) operation(op, what string, v float64) error {
	f := p.ops[op]
	if f == nil {
		if len(p.ops) == maxFigures {
			return errMany
		}
		f = &Figure{Of: strings.ToLower(op), Unit: Operation}
		p.ops[op], p.order = f, append(p.order, op)
	}
	status, isStatus := strings.CutPrefix(what, "Return=")
	percentile := ycsbPercentile.FindStringSubmatch(what)
	switch {
	case isStatus && f.Errors == nil:
		f.Errors = new(uint64)
		fallthrough
	case isStatus:
		if status != "OK" && status != "BATCHED_OK" {
			*f.Errors += uint64(v)
		}
	case percentile != nil:
		if f.Latency.Percentiles == nil {
			f.Latency.Percentiles = map[string]float64{}
		}
		if len(f.Latency.Percentiles) < 100 {
			f.Latency.Percentiles[percentile[1]] = v
		}
	case what == "Operations":
		f.Count = count(v)
	case what == "AverageLatency(us)":
		f.Latency.Mean = &v
	case what == "MinLatency(us)":
		f.Latency.Min = &v
	case what == "MaxLatency(us)":
		f.Latency.Max = &v
	}
	return nil
}

func (p *ycsb) status(m []string) error {
	v, err := numbers(m[1], m[2])
	if err != nil {
		return err
	}
	if v[0] < p.until {
		return errSecond
	}
	if p.until = v[0]; !p.done {
		p.overall.Count = count(v[1])
	}
	return nil
}

func (p *ycsb) run() (*Run, error) {
	p.r.Tool, p.overall.Of, p.overall.Unit = "YCSB", "all", Operation
	if !p.done {
		if p.until <= 0 || *p.overall.Count == 0 {
			return nil, errors.New("YCSB reports no operation")
		}
		p.r.SpanS, p.overall.PerS = &p.until, new(float64(*p.overall.Count)/p.until)
		p.r.Marks = append(p.r.Marks, markPartial)
	}
	p.overall.Count = p.sum()
	p.r.Figures = []Figure{p.overall}
	for _, op := range p.order {
		f := *p.ops[op]
		if f.Count != nil && p.r.SpanS != nil && *p.r.SpanS > 0 {
			f.PerS = new(float64(*f.Count) / *p.r.SpanS)
		}
		p.r.Figures = append(p.r.Figures, f)
	}
	return &p.r, nil
}

// sum is how many operations there were, or what the last status line said. A
// read-modify-write is counted as its read and its update too.
func (p *ycsb) sum() *uint64 {
	total := uint64(0)
	for op, f := range p.ops {
		if f.Count != nil && op != "READ-MODIFY-WRITE" {
			total += *f.Count
		}
	}
	if total == 0 {
		return p.overall.Count
	}
	return &total
}
