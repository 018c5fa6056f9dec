package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/retrace-db/retrace/internal/sim"
)

// simText is the truth for people.
func simText(t sim.Truth) string {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(escape(fmt.Sprintf(format, args...)) + "\n") }
	n := t.Statements
	line("Answered %d statements on %d connections in %.1f s: %d ok, %d errors.", n.Answered, t.Connections, t.ElapsedS, n.OK, n.Error)
	counted(line, "errors", t.Errors)
	counted(line, "not answered", nonZero(map[string]uint64{"skipped after an error": n.Skipped, "connection broke": n.Unanswered}))
	counted(line, "besides", nonZero(map[string]uint64{
		"questions about the server": n.Asked, "connections refused": t.Refused, "cancel requests": t.Cancels,
	}))
	for _, name := range slices.Sorted(maps.Keys(t.Tables)) {
		line("table %s: %d rows written", name, t.Tables[name])
	}
	if n.OK == 0 {
		return b.String()
	}
	b.WriteString("\n" + simTimes(t) + "\n\n")
	line("Answers left up to %.0f µs later than drawn (p50 %.0f µs, p99 %.0f µs): the lines \"left\" are what a client can have met.",
		t.LateUS.Max, t.LateUS.P50, t.LateUS.P99)
	return b.String()
}

func simTimes(t sim.Truth) string {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Options = table.OptionsNoBordersAndSeparators
	w.Style().Format.Header = text.FormatDefault // upper case makes an M of µ
	w.AppendHeader(table.Row{"µs", "ok", "mean", "p50", "p95", "p99", "p99.9", "max"})
	add := func(name string, n uint64, times sim.Times) {
		if n == 0 {
			return
		}
		w.AppendRow(simRow(escape(name)+", drawn", n, times.IntendedUS))
		w.AppendRow(simRow("  left", n, times.ActualUS))
	}
	for _, r := range t.Latencies {
		add(r.Latency, r.OK, r.Times)
	}
	if len(t.Latencies) > 1 {
		add("all", t.Statements.OK, t.Times)
	}
	w.SetColumnConfigs(rightAligned(2, 8))
	return w.Render()
}

func simRow(name string, n uint64, s *sim.Spread) table.Row {
	return table.Row{name, n, whole3(s.Mean), whole3(s.P50), whole3(s.P95), whole3(s.P99), whole3(s.P999), whole3(s.Max)}
}

func nonZero(counts map[string]uint64) map[string]uint64 {
	maps.DeleteFunc(counts, func(_ string, n uint64) bool { return n == 0 })
	return counts
}
