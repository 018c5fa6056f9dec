package aggregate

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// pgbenchLog reads the files of pgbench -l, one line per transaction or, with
// --aggregate-interval, per interval. Those of several threads may follow each
// other in any order.
type pgbenchLog struct {
	hist         *hdrhistogram.Histogram // of single transactions, µs
	intervals    bool
	scheduled    bool
	n, failed    uint64
	sum, squares float64
	min, max     float64
	from, until  float64 // s
	last         uint64  // transactions of the interval that began last
}

const epoch = 1e8 // 1973: no client has such a number

var (
	pgbenchTransaction = regexp.MustCompile(`^\d{1,7} \d+ (\d+|skipped|failed|serialization|deadlock|other) \d+ \d{9,10} \d{1,6}( \d+){0,2}$`)
	pgbenchInterval    = regexp.MustCompile(`^\d{9,10} \d+ \d+ \d+ \d+ \d+( \d+){0,10}$`)
)

func newPgbenchLog() *pgbenchLog {
	return &pgbenchLog{hist: hdrhistogram.New(1, 24*3600*1e6, 3), min: math.Inf(1), from: math.Inf(1)}
}

func pgbenchLogSign(line string) bool {
	return pgbenchTransaction.MatchString(line) || pgbenchInterval.MatchString(line)
}

func (p *pgbenchLog) line(s string) error {
	f := strings.Fields(s)
	if len(f) == 0 {
		return nil
	}
	single := pgbenchTransaction.MatchString(s)
	if !single && !pgbenchInterval.MatchString(s) {
		return fmt.Errorf("%.60q is no line of a pgbench log", s)
	}
	if p.from < math.Inf(1) && single == p.intervals {
		return errors.New("a log of transactions and one of intervals in one file")
	}
	p.intervals = !single
	if single {
		return p.transaction(f)
	}
	return p.interval(f)
}

func (p *pgbenchLog) transaction(f []string) error {
	at, err := numbers(f[4], f[5])
	if err != nil {
		return err
	}
	end := at[0] + at[1]/1e6
	p.from, p.until = min(p.from, end), max(p.until, end)
	if f[2][0] > '9' { // skipped, failed, or why
		p.failed++
		return nil
	}
	us, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return fmt.Errorf("a latency of %.30s µs: %w", f[2], err)
	}
	if err := p.hist.RecordValue(us); err != nil {
		return fmt.Errorf("a latency of %d µs: %w", us, err)
	}
	// With -R a column tells by how many µs it started late. --max-tries has a
	// column too, and nobody tries that often.
	if len(f) > 6 {
		late, err := strconv.ParseInt(f[6], 10, 64)
		p.scheduled = p.scheduled || len(f) == 8 || err != nil || late > 1000
	}
	v := float64(us)
	p.n, p.sum, p.squares = p.n+1, p.sum+v, p.squares+v*v
	p.from, p.min, p.max = min(p.from, end-v/1e6), min(p.min, v), max(p.max, v)
	return nil
}

func (p *pgbenchLog) interval(f []string) error {
	v, err := numbers(f...)
	if err != nil {
		return err
	}
	n := uint64(v[1])
	switch {
	case v[0] > p.until:
		p.until, p.last = v[0], n
	case v[0] == p.until:
		p.last += n
	}
	p.from = min(p.from, v[0])
	p.n, p.sum, p.squares = p.n+n, p.sum+v[2], p.squares+v[3]
	if n > 0 {
		p.min, p.max = min(p.min, v[4]), max(p.max, v[5])
	}
	if len(v) >= 10 {
		p.scheduled = p.scheduled || v[6] > 0
	}
	for _, i := range []int{10, 13, 14, 15} { // skipped, and failures by kind
		if i < len(v) {
			p.failed += uint64(v[i])
		}
	}
	return nil
}

func (p *pgbenchLog) run() (*Run, error) {
	if p.n == 0 {
		return nil, errors.New("the pgbench log has no transaction that succeeded")
	}
	n := float64(p.n)
	f := Figure{Of: "all", Unit: Transaction, Count: &p.n, Errors: &p.failed}
	f.Latency = Latency{Mean: new(p.sum / n), Min: &p.min, Max: &p.max}
	f.Latency.StdDev = new(math.Sqrt(max(0, p.squares/n-(p.sum/n)*(p.sum/n))))
	r := &Run{Tool: "pgbench"}
	if p.scheduled {
		r.Marks = append(r.Marks, markScheduled)
	}
	span := p.until - p.from
	if p.intervals {
		n -= float64(p.last) // of the interval that began last nobody knows the end
	} else {
		f.Latency.Percentiles = map[string]float64{}
		for _, q := range []float64{50, 95, 99, 99.9} {
			v := float64(p.hist.ValueAtQuantile(q))
			f.Latency.Percentiles[strconv.FormatFloat(q, 'f', -1, 64)] = min(max(v, p.min), p.max)
		}
	}
	if span > 0 {
		r.SpanS, f.PerS = &span, new(n/span)
	}
	r.Figures = []Figure{f}
	return r, nil
}
