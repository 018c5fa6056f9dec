package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/retrace-db/retrace/replay"
)

// seriesReport is the JSON of several replays.
type seriesReport struct {
	Schema  int           `json:"schema"`
	Planned int           `json:"planned"` // replays asked for; fewer were begun after a signal
	Replays []seriesEntry `json:"replays"` // in the order in which they were made
}

// seriesEntry is one of them.
type seriesEntry struct {
	Label   string          `json:"label"`
	Number  int             `json:"number"`
	Target  string          `json:"target"`
	File    *string         `json:"file"` // null where none was written
	Exit    int             `json:"exit"` // the code it would have had alone
	Errors  []string        `json:"errors"`
	Summary *replay.Summary `json:"summary"` // null where nothing was replayed
}

// failed notes what went wrong.
func (e seriesEntry) failed(err error) seriesEntry {
	e.Exit, e.Errors = exitOf(err), []string{}
	if err == nil {
		return e
	}
	for _, one := range flatten(err) {
		if coded(one).Err != nil {
			e.Errors = append(e.Errors, one.Error())
		}
	}
	return e
}

func (c *replayCmd) reportSeries(env Env, r *seriesReport) error {
	if c.Output == "json" {
		return printJSON(env.Out, r)
	}
	_, err := io.WriteString(env.Out, seriesText(r))
	return err
}

// seriesText puts the replays side by side, for people.
func seriesText(r *seriesReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d replays made.\n\n", made(r), r.Planned)
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault // upper case makes an M of µ
	t.AppendHeader(table.Row{"replay", "s", "ok", "error", "other", "diverged %", "p50 µs", "p99 µs", ""})
	for i := range r.Replays {
		t.AppendRow(seriesRow(&r.Replays[i]))
	}
	t.SetColumnConfigs(rightAligned(2, 8))
	b.WriteString(t.Render() + "\n")
	if files := filesOf(r); len(files) > 1 {
		fmt.Fprintf(&b, "\nCompare: retrace analyze %s\n", escape(strings.Join(files, " ")))
	}
	return b.String()
}

func made(r *seriesReport) int {
	n := 0
	for i := range r.Replays {
		if r.Replays[i].Summary != nil {
			n++
		}
	}
	return n
}

func seriesRow(e *seriesEntry) table.Row {
	name := fmt.Sprintf("%s-%d", e.Label, e.Number)
	s := e.Summary
	if s == nil {
		return table.Row{name, "", "", "", "", "", "", "", "not made"}
	}
	p50, p99 := "", ""
	if s.ServiceUS != nil {
		p50, p99 = whole3(s.ServiceUS.P50), whole3(s.ServiceUS.P99)
	}
	c := s.Statements
	return table.Row{
		name, fmt.Sprintf("%.1f", s.ElapsedS), c.OK, c.Error, c.Captured - c.OK - c.Error,
		fmt.Sprintf("%.2f", s.DivergedPct), p50, p99, inAWord(s),
	}
}

func inAWord(s *replay.Summary) string {
	switch {
	case s.Partial:
		return "interrupted"
	case !s.Valid:
		return "NOT VALID"
	case s.KeptUp != nil && !*s.KeptUp:
		return "did not keep up"
	}
	return "valid"
}

// filesOf lists the runs target by target, as the targets were given: the first
// is the baseline of a comparison.
func filesOf(r *seriesReport) []string {
	var labels, files []string
	by := map[string][]string{}
	for i := range r.Replays {
		e := &r.Replays[i]
		if e.File == nil {
			continue
		}
		if by[e.Label] == nil {
			labels = append(labels, e.Label)
		}
		by[e.Label] = append(by[e.Label], *e.File)
	}
	for _, l := range labels {
		files = append(files, by[l]...)
	}
	return files
}
