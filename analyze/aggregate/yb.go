package aggregate

import (
	"errors"
	"regexp"
)

// yb reads the status lines of yb-sample-apps: counts since the start, and the
// average of the last five seconds.
type yb struct {
	until   float64 // ms
	ops     [2]float64
	latency [2]mean
	seen    bool
}

var ybStatus = regexp.MustCompile(`Read: ([\d.]+) ops/sec \(([\d.]+) ms/op\), (\d+) total ops\s*\|\s*Write: ([\d.]+) ops/sec \(([\d.]+) ms/op\), (\d+) total ops\s*\|\s*Uptime: (\d+) ms`)

func ybSign(line string) bool { return ybStatus.MatchString(line) }

func (p *yb) line(s string) error {
	m := ybStatus.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	v, err := numbers(m[1:]...)
	if err != nil {
		return err
	}
	if v[6] <= p.until && p.seen {
		return errSecond
	}
	p.until, p.seen = v[6], true
	for i := range p.ops {
		ms, total := v[3*i+1], v[3*i+2]
		if total < p.ops[i] {
			return errors.New("the number of operations falls")
		}
		p.latency[i].add(ms*1e3, total-p.ops[i])
		p.ops[i] = total
	}
	return nil
}

func (p *yb) run() (*Run, error) {
	r := &Run{Tool: "yb-sample-apps"}
	for i, name := range []string{"read", "write"} {
		if p.ops[i] == 0 || p.until == 0 {
			continue
		}
		r.Figures = append(r.Figures, Figure{
			Of: name, Unit: Operation, Count: count(p.ops[i]), PerS: new(p.ops[i] / (p.until / 1e3)),
			Latency: Latency{Mean: p.latency[i].value()},
		})
	}
	if len(r.Figures) == 0 {
		return nil, errors.New("yb-sample-apps reports no operation")
	}
	r.SpanS = new(p.until / 1e3)
	return r, nil
}
