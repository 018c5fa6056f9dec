package analyze

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Text says how a report becomes text.
type Text struct {
	Top    int                 // fingerprints shown; 0: 20
	Width  int                 // columns of the terminal; 0: 100
	Escape func(string) string // makes foreign text safe to show
}

const (
	defaultTop   = 20
	defaultWidth = 100
	sqlLines     = 2
	labelWidth   = 12
)

// Write writes the report for people.
func (t Text) Write(w io.Writer, r *Report) error {
	t.Top, t.Width = cmp.Or(t.Top, defaultTop), cmp.Or(t.Width, defaultWidth)
	p := page{Text: t, r: r, labels: shortLabels(r.Runs, t.Escape)}
	p.headline()
	if len(r.Runs) > 0 {
		p.runs()
		p.totals()
		p.statements()
	}
	p.section(columnsOr(p.beside(), 2))
	p.section(p.otherPercentiles())
	p.errors()
	p.operations()
	p.footnotes()
	_, err := io.WriteString(w, p.b.String())
	return err
}

type page struct {
	Text
	r      *Report
	labels []string
	b      strings.Builder
}

func (p *page) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

func (p *page) label(run int) string { return p.labels[run] }

// shortLabels makes labels narrow, and numbers them if that makes some alike.
func shortLabels(runs []Run, escape func(string) string) []string {
	labels, seen, alike := make([]string, len(runs)), map[string]bool{}, false
	for i := range runs {
		labels[i] = text.Snip(escape(runs[i].Label), labelWidth, "…")
		alike = alike || seen[labels[i]]
		seen[labels[i]] = true
	}
	for i := range labels {
		if alike {
			labels[i] = text.Snip(fmt.Sprintf("%d %s", i+1, labels[i]), labelWidth, "…")
		}
	}
	return labels
}

// headline is the one sentence for who reads no further.
func (p *page) headline() {
	for i := range p.r.Runs {
		run, f := &p.r.Runs[i], &p.r.Total.Runs[i]
		s := fmt.Sprintf("%s: %s", p.label(i), p.counted(run, f.Count))
		if n := len(run.Members); n > 0 {
			s = fmt.Sprintf("%s: %s, %s", p.label(i), plural(uint64(n), "run"), p.counted(run, f.Count))
		}
		if run.SpanS != nil {
			s += " in " + Duration(*run.SpanS*1e6)
		}
		if f.Service != nil {
			s += fmt.Sprintf(", median %s, p99 %s", Duration(f.Service.P50), Duration(f.Service.P99))
		}
		s += ", " + plural(f.Failed(), "error")
		p.line("%s", s)
	}
	p.reported()
	p.verdicts()
	p.gates()
}

// counted tells how many statements the figures are of, and of how many.
func (p *page) counted(run *Run, n uint64) string {
	s := plural(n, "statement")
	if p.r.Where != nil {
		s = fmt.Sprintf("%s of %s (where %s)", number(n), plural(n+run.Unmatched, "statement"), p.Escape(*p.r.Where))
	}
	if p.r.SkipStartS != nil {
		s += fmt.Sprintf(" without %s of the first %s", number(run.SkippedStart), Duration(*p.r.SkipStartS*1e6))
	}
	return s
}

func (p *page) runs() {
	rows := [][]string{{"run", "made by", "on", "span", "sessions", "requests", "statements", "per second"}}
	for i := range p.r.Runs {
		r := &p.r.Runs[i]
		span := "-"
		if r.SpanS != nil {
			span = Duration(*r.SpanS * 1e6)
		}
		version, _, _ := strings.Cut(r.EngineVersion, " ") // without the packager's remarks
		on := strings.TrimSpace(r.Engine + " " + version)
		rows = append(rows, []string{
			p.label(i), p.Escape(p.how(r)), text.Snip(p.Escape(on), 24, "…"), span,
			number(r.Sessions), number(r.Requests), number(r.Statements), rate(r.StatementsPerS),
		})
	}
	p.section(columns(rows, 3))
	for i := range p.r.Runs {
		p.members(p.label(i), p.r.Runs[i].Members)
	}
}

// members tells the runs of a group apart.
func (p *page) members(label string, runs []Member) {
	if len(runs) == 0 {
		return
	}
	parts := make([]string, len(runs))
	for i, m := range runs {
		parts[i] = p.Escape(m.Label) + " -"
		if m.P50 != nil {
			parts[i] = fmt.Sprintf("%s %s", p.Escape(m.Label), Duration(*m.P50))
		}
	}
	p.wrapped("", fmt.Sprintf("%s, medians of its runs: %s", label, strings.Join(parts, ", ")))
}

// how says where a run comes from: capture, or replay with its pace.
func (p *page) how(r *Run) string {
	s := r.MadeBy
	if r.Pace != nil && *r.Pace != "" {
		s += " " + *r.Pace
	}
	if r.Speed != nil && *r.Speed != 0 && *r.Speed != 1 {
		s += fmt.Sprintf(" ×%g", *r.Speed)
	}
	return s
}

var figureColumns = []string{"service time", "count", "share", "mean", "p50", "p95", "p99", "p99.9", "max", "errors"}

// block is the rows of some statements: one per run, and one more where there
// is a schedule to count from.
func (p *page) block(runs []Figures) [][]string {
	var rows [][]string
	for i := range runs {
		f := &runs[i]
		row := []string{p.label(i), number(f.Count), share(f.SharePct)}
		row = append(row, spread(f.Service)...)
		rows = append(rows, append(row, number(f.Failed())))
		if f.Response != nil {
			row := []string{"  response", "", ""}
			rows = append(rows, append(append(row, spread(f.Response)...), ""))
		}
	}
	return rows
}

func spread(l *Latency) []string {
	if l == nil {
		return []string{"-", "-", "-", "-", "-", "-"}
	}
	out := make([]string, 0, 6)
	for _, us := range []float64{l.Mean, l.P50, l.P95, l.P99, l.P999, l.Max} {
		out = append(out, Duration(us))
	}
	return out
}

func (p *page) totals() {
	p.line("\nAll statements")
	for _, l := range columns(append([][]string{figureColumns}, p.block(p.r.Total.Runs)...), 1) {
		p.line("%s", l)
	}
	p.notable(p.r.Total.Runs, "")
}

// statements is one table, so that its columns stand in line, with each
// statement's text put in above its rows.
func (p *page) statements() {
	shown := p.r.Fingerprints[:min(p.Top, len(p.r.Fingerprints))]
	if len(shown) == 0 {
		return
	}
	rows := [][]string{figureColumns}
	var sizes []int
	for i := range shown {
		b := p.block(shown[i].Runs)
		rows = append(rows, b...)
		sizes = append(sizes, len(b))
	}
	lines := columns(rows, 1)
	p.line("\n%s", p.order())
	p.line("%s", lines[0])
	p.line("%s", lines[1])
	lines = lines[2:]
	for i := range shown {
		p.sql(i+1, &shown[i])
		for _, l := range lines[:sizes[i]] {
			p.line("%s", l)
		}
		p.notable(shown[i].Runs, "  ")
		p.changes(shown[i].Runs)
		lines = lines[sizes[i]:]
	}
	p.rest(p.r.Fingerprints[len(shown):])
}

func (p *page) sql(rank int, f *Fingerprint) {
	indent := fmt.Sprintf("%d. ", rank)
	width := p.Width - len(indent)
	rows := p.rowsEach(f.Runs)
	sql := text.Snip(p.Escape(f.SQL), sqlLines*width-width/4-len(rows), " …") + rows // words wrap early
	lines := strings.Split(text.WrapSoft(sql, width), "\n")
	for i, l := range lines {
		if i > 0 {
			indent = strings.Repeat(" ", len(indent))
		}
		p.line("%s%s", indent, strings.TrimLeft(l, " "))
	}
}

// rowsEach says how many rows a statement returned or changed, once if all
// runs agree.
func (p *page) rowsEach(runs []Figures) string {
	var parts []string
	for i := range runs {
		each := "-"
		if f := &runs[i]; f.OK > 0 {
			each = strings.TrimSuffix(three(float64(f.Rows)/float64(f.OK)), ".00")
		}
		if !slices.Contains(parts, each) && each != "-" {
			parts = append(parts, each)
		}
	}
	if len(parts) == 0 || len(parts) == 1 && parts[0] == "0" {
		return ""
	}
	return "  (rows: " + strings.Join(parts, " → ") + ")"
}

func (p *page) rest(left []Fingerprint) {
	if len(left) == 0 {
		return
	}
	pct := 0.0
	for i := range left {
		for j := range left[i].Runs {
			pct = max(pct, value(left[i].Runs[j].SharePct))
		}
	}
	p.line("… and %s, none over %.1f%% of the time", plural(uint64(len(left)), "more fingerprint"), math.Ceil(pct*10)/10)
}

// notable writes what else was seen: outcomes that have no column.
func (p *page) notable(runs []Figures, indent string) {
	for i := range runs {
		var parts []string
		for _, class := range keys(runs[i].Other) {
			parts = append(parts, class+" "+p.counts(runs[i].Other[class]))
		}
		if d := runs[i].Diverged; d != nil && d.Statements > 0 {
			result := ""
			if d.Result > 0 {
				result = ", result " + number(d.Result)
			}
			parts = append(parts, fmt.Sprintf("diverged %s (status %s, rows %s%s)", number(d.Statements), number(d.Status), number(d.Rows), result))
		}
		if len(parts) > 0 {
			p.line("%s%s: %s", indent, p.label(i), strings.Join(parts, "; "))
		}
	}
}

func (p *page) counts(m map[string]uint64) string {
	var parts []string
	for _, k := range keys(m) {
		parts = append(parts, fmt.Sprintf("%s (%s)", number(m[k]), p.Escape(cmp.Or(k, "no reason"))))
	}
	return strings.Join(parts, ", ")
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (p *page) errors() {
	codes := map[string]bool{}
	header := []string{"error"}
	for i := range p.r.Total.Runs {
		header = append(header, p.label(i))
		for code := range p.r.Total.Runs[i].Errors {
			codes[code] = true
		}
	}
	if len(codes) == 0 {
		return
	}
	rows := [][]string{header}
	for _, code := range keys(codes) {
		row := []string{p.Escape(code)}
		for i := range p.r.Total.Runs {
			row = append(row, number(p.r.Total.Runs[i].Errors[code]))
		}
		rows = append(rows, row)
	}
	p.section(columns(rows, 1))
}

// operations are the events that are no statements.
func (p *page) operations() {
	var lines []string
	for i := range p.r.Runs {
		var parts []string
		for _, op := range keys(p.r.Runs[i].Operations) {
			parts = append(parts, number(p.r.Runs[i].Operations[op])+" "+op)
		}
		if len(parts) > 0 {
			lines = append(lines, fmt.Sprintf("%s: besides statements %s", p.label(i), strings.Join(parts, ", ")))
		}
	}
	p.section(lines)
}

func (p *page) footnotes() {
	var lines []string
	for _, w := range p.r.Warnings {
		note := fmt.Sprintf("note: %s: %s", strings.Join(w.Runs, ", "), w.Text)
		for _, l := range strings.Split(text.WrapSoft(p.Escape(note), p.Width), "\n") {
			lines = append(lines, strings.TrimLeft(l, " "))
		}
	}
	p.section(lines)
}

// section writes lines after an empty one.
func (p *page) section(lines []string) {
	if len(lines) > 0 {
		p.line("")
	}
	for _, l := range lines {
		p.line("%s", l)
	}
}

// columns lays rows out, the first as header; the first left columns stand
// left, the rest right. There is one line per row, and one under the header.
func columns(rows [][]string, left int) []string {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	var configs []table.ColumnConfig
	for i := range rows[0] {
		align := text.AlignRight
		if i < left {
			align = text.AlignLeft
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	t.SetColumnConfigs(configs)
	for i, cells := range rows {
		row := make(table.Row, len(cells))
		for j := range cells {
			row[j] = cells[j]
		}
		if i == 0 {
			t.AppendHeader(row)
			continue
		}
		t.AppendRow(row)
	}
	return strings.Split(t.Render(), "\n")
}
