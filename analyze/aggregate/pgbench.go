package aggregate

import (
	"errors"
	"regexp"
	"strings"
)

// pgbench reads the final report, with or without -r, and the progress lines of -P.
type pgbench struct {
	r          Run
	all        Figure
	statements []Figure
	done       bool // the report tells how many transactions there were
	listing    bool // per-statement latencies follow
	failures   bool // with a column of failures

	begun    float64 // when the first interval began that the lines tell all of
	until    float64 // of the last progress line
	progress mean    // latencies, by transactions
}

var (
	pgbenchProgress = regexp.MustCompile(`^progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+|NaN|-nan|nan) ms stddev (?:[\d.]+|NaN|-nan|nan)(?:, (\d+) failed)?(, lag )?`)
	pgbenchReport   = regexp.MustCompile(`^(pgbench \(|number of transactions actually processed: |number of clients: |duration: |latency average = |latency stddev = |tps = |number of failed transactions: |rate limit schedule lag: )(\d[\d.]*)`)
	pgbenchEach     = regexp.MustCompile(`^\s+(\d+\.\d+)\s+(\S.*)$`)
	pgbenchFailures = regexp.MustCompile(`^(\d+)\s+(\S.*)$`)
)

func pgbenchSign(line string) bool {
	return pgbenchProgress.MatchString(line) || strings.HasPrefix(line, "number of transactions actually processed: ")
}

func (p *pgbench) line(s string) error {
	trimmed := strings.TrimLeft(s, " \t-")
	if m := pgbenchProgress.FindStringSubmatch(trimmed); m != nil {
		return p.interval(m)
	}
	if strings.HasPrefix(trimmed, "statement latencies in milliseconds") {
		p.listing, p.failures = true, strings.Contains(trimmed, "failures")
		return nil
	}
	if m := pgbenchEach.FindStringSubmatch(s); m != nil && p.listing {
		return p.statement(m[1], m[2])
	}
	if s != trimmed { // of one script of several
		return nil
	}
	if m := pgbenchReport.FindStringSubmatch(s); m != nil {
		return p.report(m[1], m[2])
	}
	return nil
}

func (p *pgbench) report(what, value string) error {
	if what == "pgbench (" {
		p.r.Version = &value
		return nil
	}
	v, err := number(value)
	if err != nil {
		return err
	}
	switch what {
	case "number of transactions actually processed: ":
		if p.done {
			return errSecond
		}
		p.done, p.all.Count = true, count(v)
	case "number of clients: ":
		p.r.Clients = count(v)
	case "duration: ":
		p.r.SpanS = &v
	case "latency average = ":
		p.all.Latency.Mean = millis(v)
	case "latency stddev = ":
		p.all.Latency.StdDev = millis(v)
	case "number of failed transactions: ":
		p.all.Errors = count(v)
	case "rate limit schedule lag: ":
		p.r.Marks = append(p.r.Marks, markScheduled)
	case "tps = ": // up to 13, the second and last is the one without connecting
		p.all.PerS = &v
	}
	return nil
}

func (p *pgbench) statement(ms, rest string) error {
	f := Figure{Of: rest, Unit: Statement}
	if m := pgbenchFailures.FindStringSubmatch(rest); m != nil && p.failures {
		v, err := number(m[1])
		if err != nil {
			return err
		}
		f.Of, f.Errors = m[2], count(v)
	}
	if strings.HasPrefix(f.Of, `\`) { // a command of pgbench itself
		return nil
	}
	v, err := number(ms)
	if err != nil {
		return err
	}
	if len(p.statements) == maxFigures {
		return errMany
	}
	f.Latency.Mean = millis(v)
	p.statements = append(p.statements, f)
	return nil
}

func (p *pgbench) interval(m []string) error {
	at, err := numbers(m[1], m[2])
	if err != nil {
		return err
	}
	if at[0] <= p.until {
		return errSecond
	}
	if p.until == 0 && at[0] > epoch { // --progress-timestamp: nobody knows how long the first was
		p.begun, p.until = at[0], at[0]
		return nil
	}
	n := at[1] * (at[0] - p.until)
	p.until = at[0]
	if m[5] != "" && len(p.r.Marks) == 0 {
		p.r.Marks = append(p.r.Marks, markScheduled)
	}
	if n == 0 { // nothing was done: no latency
		return nil
	}
	ms, err := number(m[3])
	if err != nil {
		return err
	}
	p.progress.add(ms*1e3, n)
	return nil
}

func (p *pgbench) run() (*Run, error) {
	p.r.Tool, p.all.Of, p.all.Unit = "pgbench", "all", Transaction
	switch {
	case p.done && p.all.Count != nil && *p.all.Count > 0:
		if p.all.Latency.StdDev == nil && p.all.Latency.Mean != nil {
			p.r.Marks = append(p.r.Marks, markDerived)
		}
	case !p.done && p.progress.weight > 0:
		span := p.until - p.begun
		p.r.SpanS, p.all.PerS = &span, new(p.progress.weight/span)
		p.all.Latency.Mean, p.all.Latency.StdDev = p.progress.value(), nil
		p.r.Marks = append(p.r.Marks, markPartial)
	default:
		return nil, errors.New("pgbench reports no transaction")
	}
	p.r.Marks = once(p.r.Marks)
	p.r.Figures = append([]Figure{p.all}, p.statements...)
	return &p.r, nil
}

// once leaves out what was said before.
func once(marks []Mark) []Mark {
	var out []Mark
	seen := map[Mark]bool{}
	for _, m := range marks {
		if !seen[m] {
			out = append(out, m)
		}
		seen[m] = true
	}
	return out
}
