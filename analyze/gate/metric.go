package gate

import (
	"slices"
	"strings"

	"github.com/retrace-db/retrace/analyze"
)

type unit int

const (
	times unit = iota
	failures
	rates
)

// metric is a figure that a condition can be about.
type metric struct {
	name    string
	unit    unit
	example string
	of      func(f *analyze.Figures, run *analyze.Run) (float64, bool)
}

var metrics = allMetrics()

func allMetrics() map[string]metric {
	all := map[string]metric{}
	for name, pick := range map[string]func(*analyze.Latency) float64{
		"p50": func(l *analyze.Latency) float64 { return l.P50 }, "p95": func(l *analyze.Latency) float64 { return l.P95 },
		"p99": func(l *analyze.Latency) float64 { return l.P99 }, "p99.9": func(l *analyze.Latency) float64 { return l.P999 },
		"max": func(l *analyze.Latency) float64 { return l.Max }, "mean": func(l *analyze.Latency) float64 { return l.Mean },
	} {
		service := latency("service."+name, pick, func(f *analyze.Figures) *analyze.Latency { return f.Service })
		all[name], all["service."+name] = service, service
		all["response."+name] = latency("response."+name, pick, func(f *analyze.Figures) *analyze.Latency { return f.Response })
	}
	all["errors"] = metric{"errors", failures, "a number such as 0, or 1% of the statements", func(f *analyze.Figures, _ *analyze.Run) (float64, bool) {
		return float64(f.Failed()), true
	}}
	all["throughput"] = metric{"throughput", rates, "a rate such as 100/s", func(f *analyze.Figures, run *analyze.Run) (float64, bool) {
		if run.SpanS == nil || *run.SpanS <= 0 {
			return 0, false
		}
		return float64(f.OK) / *run.SpanS, true
	}}
	return all
}

func latency(name string, pick func(*analyze.Latency) float64, of func(*analyze.Figures) *analyze.Latency) metric {
	return metric{name, times, "a duration such as 10ms", func(f *analyze.Figures, _ *analyze.Run) (float64, bool) {
		l := of(f)
		if l == nil {
			return 0, false
		}
		return pick(l), true
	}}
}

func metricNames() string {
	var names []string
	for name := range metrics {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
