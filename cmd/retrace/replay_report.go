package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/retrace-db/retrace/replay"
)

// report prints the summary: on stdout, or on stderr where stdout is the run.
func (c *replayCmd) report(env Env, s *replay.Summary, file string) error {
	if c.Output == "json" {
		return printJSON(env.Out, s)
	}
	out := env.Out
	if c.Write == "-" {
		if c.Quiet {
			return nil
		}
		out = env.Err
	}
	_, err := io.WriteString(out, replayText(s)+c.whereToLook(s, file))
	return err
}

// whereToLook are commands that show what diverged, as replayed and as recorded.
func (c *replayCmd) whereToLook(s *replay.Summary, file string) string {
	if len(s.Divergences) == 0 {
		return ""
	}
	text := ""
	if file != "" && file != "-" {
		text = fmt.Sprintf("Diverged: retrace trace cat --where 'diverged:*' %s\n", file)
	}
	if c.rereadable() {
		text += fmt.Sprintf("Recorded: retrace trace cat --values --where session:%d %s\n", s.Divergences[0].First.Session, strings.Join(c.Traces, " "))
	}
	return escapeLines(text)
}

// replayText is the summary for people.
func replayText(s *replay.Summary) string {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(escape(fmt.Sprintf(format, args...)) + "\n") }
	pace := s.Pace
	if s.Speed != nil && *s.Speed != 1 {
		pace += fmt.Sprintf(" at %g times the speed", *s.Speed)
	}
	if s.RatePerS != nil {
		pace = fmt.Sprintf("%g requests a second", *s.RatePerS)
	}
	line("Replayed %d sessions against %s, pace %s, in %.1f s.", s.Sessions, s.Target, pace, s.ElapsedS)
	if s.MaxGapS != nil {
		line("Silence was cut to %g s at most: %d times, %.1f s in all.", *s.MaxGapS, s.GapsCut, s.CutS)
	}
	if s.Partial {
		line("Interrupted: the rest of the trace was not read.")
	}
	b.WriteString("\n" + outcomes(s) + "\n\n")
	counted(line, "errors", s.Errors)
	counted(line, "not ok", s.Reasons)
	counted(line, "errors of other events", without(s.EventErrors, s.Errors))
	counted(line, "other events not ok", without(s.EventReasons, s.Reasons))
	if s.PreparedAgain > 0 {
		line("%d statements were prepared late, since their Parse had been skipped.", s.PreparedAgain)
	}
	if s.Retries > 0 {
		line("%d transactions were sent again, %d times in all; these attempts are counted nowhere else.", s.Retried, s.Retries)
	}
	counted(line, "serialization failures after which nothing was sent again", s.NotRetried)
	if s.Order == replay.OrderCommit {
		line("Order of commits: %d transactions waited for others, %d were let go out of order.", s.OrderWaited, s.OrderReleased)
	}
	loops(line, s.Loops)
	line("Diverged from the recording: %d of %d statements compared (%.2f %%): %d in status, %d in rows%s.",
		s.Diverged, s.Compared, s.DivergedPct, s.DivergedStatus, s.DivergedRows, inResults(s))
	divergences(line, s)
	b.WriteString("\n")
	if times := spreads(s); times != "" {
		b.WriteString(times + "\n\n")
	}
	verdicts(line, s)
	return b.String()
}

// divergences names the statements that diverge the most, and one of each.
func divergences(line func(string, ...any), s *replay.Summary) {
	const width = 100
	for i := range s.Divergences {
		d := &s.Divergences[i]
		sql := []rune(d.SQL)
		if len(sql) > width {
			sql = append(sql[:width-1], '…')
		}
		line("  %d × %s", d.Statements, string(sql))
		replayed := inWords(d.First.Replayed)
		if replayed == inWords(d.First.Recorded) {
			replayed = "others"
		}
		line("      first %d:%d: %s recorded, %s replayed", d.First.Session, d.First.Ordinal, inWords(d.First.Recorded), replayed)
	}
	if s.DivergencesRest > 0 {
		line("  and %d of other texts", s.DivergencesRest)
	}
}

// inWords is an outcome in words.
func inWords(o replay.Outcome) string {
	switch {
	case o.Reason != "":
		return o.Status + "(" + o.Reason + ")"
	case o.Status != "ok":
		return o.Status
	case o.Rows == 1:
		return "1 row"
	}
	return fmt.Sprintf("%d rows", o.Rows)
}

// inResults says how many results differ, where results were compared.
func inResults(s *replay.Summary) string {
	if s.DivergedResult == nil {
		return ""
	}
	return fmt.Sprintf(", %d in results (%d compared)", *s.DivergedResult, *s.Checked)
}

func outcomes(s *replay.Summary) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault // upper case makes an M of µ
	t.AppendHeader(table.Row{"", "captured", "ok", "error", "skipped", "filtered", "lost", "unsent"})
	for _, r := range []struct {
		name  string
		tally replay.Tally
	}{{"statements", s.Statements}, {"all events", s.Events}} {
		c := r.tally
		t.AppendRow(table.Row{r.name, c.Captured, c.OK, c.Error, c.Skipped, c.Filtered, c.Lost, c.Unsent})
	}
	t.SetColumnConfigs(rightAligned(2, 8))
	return t.Render()
}

func spreads(s *replay.Summary) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault // upper case makes an M of µ
	t.AppendHeader(table.Row{"µs", "p50", "p99", "max"})
	late := "  of that, retrace late"
	if s.LagUS == nil { // pace think has no schedule
		late = "retrace late"
	}
	for _, r := range []struct {
		name   string
		spread *replay.Spread
	}{
		{"service time", s.ServiceUS},
		{"transactions with retries", s.RetriedUS},
		{"wait for other transactions", s.OrderWaitUS},
		{"lag behind the schedule", s.LagUS},
		{"  of that, session busy", s.BusyUS},
		{late, s.ScheduleErrorUS},
	} {
		if r.spread != nil {
			t.AppendRow(table.Row{r.name, whole3(r.spread.P50), whole3(r.spread.P99), whole3(r.spread.Max)})
		}
	}
	if t.Length() == 0 {
		return ""
	}
	t.SetColumnConfigs(rightAligned(2, 4))
	return t.Render()
}

// whole3 is a number of microseconds without digits nobody believes.
func whole3(us float64) string {
	if us < 100 {
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}

func rightAligned(from, to int) []table.ColumnConfig {
	var all []table.ColumnConfig
	for n := from; n <= to; n++ {
		all = append(all, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	return all
}

// counted prints counts by word, the largest first.
func counted(line func(string, ...any), what string, counts map[string]uint64) {
	if len(counts) == 0 {
		return
	}
	words := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	const most = 10
	var parts []string
	for i, w := range words {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more kinds", len(words)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", w, counts[w]))
	}
	line("%s: %s", what, strings.Join(parts, ", "))
}

// without is what is counted in all beyond some of it.
func without(all, some map[string]uint64) map[string]uint64 {
	rest := map[string]uint64{}
	for w, n := range all {
		if n > some[w] {
			rest[w] = n - some[w]
		}
	}
	return rest
}

func verdicts(line func(string, ...any), s *replay.Summary) {
	for _, w := range s.Warnings {
		line("Warning: %s.", strings.TrimSuffix(w, "."))
	}
	switch {
	case !s.Valid:
		line("NOT VALID: %s.", strings.Join(s.Why, "; "))
	case s.KeptUp != nil && !*s.KeptUp:
		line("Valid, but %s.", strings.Join(s.Why, "; "))
	case s.KeptUp != nil:
		line("Valid: the schedule was kept.")
	default:
		line("Valid.")
	}
}

// loops prints the figures of each loop, the first few of many.
func loops(line func(string, ...any), all []replay.Loop) {
	const most = 20
	for i, l := range all {
		if i == most {
			line("and %d more loops", len(all)-most)
			return
		}
		mean := "-"
		if l.ServiceUS != nil {
			mean = whole3(l.ServiceUS.Mean) + " µs"
		}
		line("loop %d: %.1f s, %d statements, %d ok, mean service time %s", i+1, l.ElapsedS, l.Statements.Captured, l.Statements.OK, mean)
	}
}
