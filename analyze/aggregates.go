package analyze

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/retrace-db/retrace/analyze/aggregate"
)

// Figures of other tools stand beside those of the traces: in one table, each
// with what it is of, and never with a verdict.

// AddAggregate puts what another tool reported into the report.
func (a *Analysis) AddAggregate(r aggregate.Run) { a.aggregates = append(a.aggregates, r) }

// marks are the warnings that figures of other tools come with.
func marks(runs []aggregate.Run) []Warning {
	var all []Warning
	for i := range runs {
		for _, m := range runs[i].Marks {
			at := slices.IndexFunc(all, func(w Warning) bool { return w.Code == m.Code && w.Text == m.Text })
			if at < 0 {
				at, all = len(all), append(all, Warning{Code: m.Code, Text: m.Text})
			}
			all[at].Runs = append(all[at].Runs, runs[i].Label)
		}
	}
	return all
}

// besidePercentiles are those that reports of traces have.
var besidePercentiles = []string{"50", "95", "99", "99.9"}

// reported are the lines of the headline.
func (p *page) reported() {
	for i := range p.r.Aggregates {
		r := &p.r.Aggregates[i]
		s := fmt.Sprintf("%s: %s", p.Escape(r.Label), p.tool(r))
		for _, f := range r.Figures[:min(len(r.Figures), aggregateShown(r))] {
			s += ", "
			if f.Of != "all" {
				s += p.Escape(f.Of) + " "
			}
			s += "at " + rate(f.PerS) + " " + f.Unit + "s per second"
			if f.Latency.Mean != nil {
				s += ", mean " + Duration(*f.Latency.Mean)
			}
		}
		p.line("%s; no verdict", s)
	}
}

// aggregateShown is how many figures the headline has: the one of all, or the
// two of a tool that has none.
func aggregateShown(r *aggregate.Run) int {
	if len(r.Figures) > 0 && r.Figures[0].Of == "all" {
		return 1
	}
	return 2
}

func (p *page) tool(r *aggregate.Run) string {
	s := r.Tool
	if r.Version != nil {
		s += " " + p.Escape(*r.Version)
	}
	return s
}

// beside is the one table in which everything stands, nil without figures of
// other tools.
func (p *page) beside() [][]string {
	if len(p.r.Aggregates) == 0 {
		return nil
	}
	rows := [][]string{{"beside each other", "what is counted and timed", "count", "per second", "mean", "p50", "p95", "p99", "p99.9", "max", "errors"}}
	for i := range p.r.Runs {
		run, f := &p.r.Runs[i], &p.r.Total.Runs[i]
		row := []string{p.label(i), "statements (service time)", number(f.Count), rate(run.StatementsPerS)}
		rows = append(rows, append(append(row, spread(f.Service)...), number(f.Failed())))
	}
	for i := range p.r.Aggregates {
		r := &p.r.Aggregates[i]
		for j := range r.Figures[:min(len(r.Figures), cmp.Or(p.Top, defaultTop)+1)] {
			rows = append(rows, p.besideRow(r, &r.Figures[j]))
		}
	}
	return rows
}

func (p *page) besideRow(r *aggregate.Run, f *aggregate.Figure) []string {
	of := f.Unit + "s"
	if f.Of != "all" {
		of = f.Unit + ": " + textSnip(p.Escape(f.Of))
	}
	l := &f.Latency
	row := []string{textSnip(p.Escape(r.Label)), of, counted(f.Count), rate(f.PerS), lasting(l.Mean)}
	for _, q := range besidePercentiles {
		row = append(row, lasting(percentile(l, q)))
	}
	return append(row, lasting(l.Max), counted(f.Errors))
}

func textSnip(s string) string {
	const width = 40
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

func percentile(l *aggregate.Latency, q string) *float64 {
	if v, ok := l.Percentiles[q]; ok {
		return &v
	}
	return nil
}

func counted(n *uint64) string {
	if n == nil {
		return "-"
	}
	return number(*n)
}

func lasting(us *float64) string {
	if us == nil {
		return "-"
	}
	return Duration(*us)
}

// otherPercentiles are those that have no column.
func (p *page) otherPercentiles() []string {
	var lines []string
	for i := range p.r.Aggregates {
		r := &p.r.Aggregates[i]
		for j := range r.Figures {
			var parts []string
			for _, q := range slices.Sorted(maps.Keys(r.Figures[j].Latency.Percentiles)) {
				if !slices.Contains(besidePercentiles, q) {
					parts = append(parts, "p"+q+" "+Duration(r.Figures[j].Latency.Percentiles[q]))
				}
			}
			if len(parts) > 0 {
				lines = append(lines, fmt.Sprintf("%s, %s: %s", p.Escape(r.Label), p.Escape(r.Figures[j].Of), strings.Join(parts, ", ")))
			}
		}
	}
	return lines
}

func columnsOr(rows [][]string, left int) []string {
	if len(rows) == 0 {
		return nil
	}
	return columns(rows, left)
}

func (p *page) mdBeside() {
	rows := p.beside()
	for i, row := range rows {
		if i == 0 {
			p.line("")
		}
		p.mdRow(row)
		if i == 0 {
			p.line("|---|---|%s", strings.Repeat("---:|", len(row)-2))
		}
	}
	for i, l := range p.otherPercentiles() {
		if i == 0 {
			p.line("")
		}
		p.line("* %s", l)
	}
}

// csvAggregates writes a row for each figure: what it is of in the place of the
// fingerprint, and the codes of its marks in that of the reasons.
func csvAggregates(out *csv.Writer, r *Report, escape func(string) string) {
	for i := range r.Aggregates {
		run := &r.Aggregates[i]
		var why []string
		for _, m := range run.Marks {
			why = append(why, m.Code)
		}
		for j := range run.Figures {
			f := &run.Figures[j]
			l := &f.Latency
			row := []string{run.Tool + " " + f.Unit, cell(escape(f.Of)), cell(escape(run.Label)), whole64(f.Count), "", whole64(f.Errors), "", "", decimal(l.Mean)}
			for _, q := range besidePercentiles {
				row = append(row, decimal(percentile(l, q)))
			}
			row = append(row, decimal(l.Max), "", "", "", "", "", "", "", "", "", strings.Join(why, " "), decimal(f.PerS))
			_ = out.Write(row) // its errors come again from Error
		}
	}
}

func whole64(n *uint64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatUint(*n, 10)
}
