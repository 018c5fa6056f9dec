package analyze

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
)

// mdText is how much of a statement stands in a table.
const mdText = 120

// Markdown writes the report for a pull request: the headline, and what has a
// verdict to look at. It shows as many fingerprints as Text does.
func (t Text) Markdown(w io.Writer, r *Report) error {
	if t.Top == 0 {
		t.Top = defaultTop
	}
	escape := t.Escape
	t.Escape = func(s string) string { return literal(escape(s)) }
	t.Width = 1 << 20 // lines are not broken
	p := page{Text: t, r: r, labels: shortLabels(r.Runs, t.Escape)}
	p.lines()
	if len(r.Runs) > 0 {
		p.mdTable()
	}
	p.mdBeside()
	p.mdNotes()
	_, err := io.WriteString(w, p.b.String())
	return err
}

// lines are the headline's, each a point of a list.
func (p *page) lines() {
	inner := page{Text: p.Text, r: p.r, labels: p.labels}
	inner.headline()
	for _, l := range strings.Split(strings.TrimSuffix(inner.b.String(), "\n"), "\n") {
		if indented := strings.TrimLeft(l, " "); indented != l {
			p.line("  * %s", indented)
			continue
		}
		for _, v := range verdictOrder {
			l = strings.Replace(l, ": "+strings.ToUpper(string(v)), ": **"+string(v)+"**", 1)
		}
		l = strings.Replace(l, "NOT COMPARABLE", "**not comparable**", 1)
		p.line("* %s", strings.Replace(l, "FAILED: ", "**failed:** ", 1))
	}
	p.line("")
}

func (p *page) mdTable() {
	header := []string{"statement", "run", "count", "mean", "p50", "p95", "p99", "errors"}
	if len(p.r.Comparisons) > 0 {
		header = append(header, "verdict")
	}
	p.mdRow(header)
	p.line("|%s", strings.Repeat("---|", 2)+strings.Repeat("---:|", 6)+strings.Repeat("---|", len(header)-8))
	p.mdRows("**all**", p.r.Total.Runs, metricMean)
	shown := p.r.Fingerprints[:min(p.Top, len(p.r.Fingerprints))]
	for i := range shown {
		sql := shown[i].SQL
		if utf8.RuneCountInString(sql) > mdText {
			sql = p.Escape(text.Trim(sql, mdText)) + " …"
		} else {
			sql = p.Escape(sql)
		}
		p.mdRows(sql, shown[i].Runs, metricMedian)
	}
	if left := len(p.r.Fingerprints) - len(shown); left > 0 {
		p.line("\n… and %s", plural(uint64(left), "more fingerprint"))
	}
}

func (p *page) mdRows(name string, runs []Figures, usual string) {
	for i := range runs {
		f := &runs[i]
		row := []string{name, p.label(i), number(f.Count)}
		row = append(row, spread(f.Service)[:4]...)
		row = append(row, number(f.Failed()))
		if len(runs) > 1 {
			row = append(row, p.mdVerdict(i, f.Change, usual))
		}
		p.mdRow(row)
		name = ""
	}
}

func (p *page) mdVerdict(run int, c *Change, usual string) string {
	switch {
	case c == nil || c.Verdict == Incomparable && len(p.r.Comparisons[run-1].Why) > 0:
		return "" // the headline has said it
	case c.Pct == nil:
		return fmt.Sprintf("%s: %s", c.Verdict, p.Escape(value(c.Why)))
	}
	what := ""
	if c.Metric != usual {
		what = strings.TrimPrefix(c.Metric, "service_") + " "
	}
	return fmt.Sprintf("**%s** %s%s", c.Verdict, what, p.amount(c))
}

func (p *page) mdNotes() {
	for i, w := range p.r.Warnings {
		if i == 0 {
			p.line("")
		}
		p.line("* %s: %s", p.Escape(strings.Join(w.Runs, ", ")), p.Escape(w.Text))
	}
}

func (p *page) mdRow(cells []string) {
	p.line("| %s |", strings.Join(cells, " | "))
}

var mdEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "~", `\~`, "#", `\#`, "@", "&#64;",
)

// literal makes a text stand in Markdown as it is: no markup, no HTML, nobody
// notified.
func literal(s string) string { return mdEscapes.Replace(s) }
