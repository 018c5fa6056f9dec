package aggregate

import "math"

// Run is what a tool reported. Null in JSON is what it did not tell.
type Run struct {
	Label   string   `json:"label"`
	Tool    string   `json:"tool"`
	Version *string  `json:"version"`
	Clients *uint64  `json:"clients"`
	SpanS   *float64 `json:"span_s"`
	Figures []Figure `json:"figures"`
	Marks   []Mark   `json:"marks"`
}

// Figure is what is known of one kind of operation.
type Figure struct {
	Of      string   `json:"of"`   // all, or the tool's name of it
	Unit    string   `json:"unit"` // what is counted and timed
	Count   *uint64  `json:"count"`
	Errors  *uint64  `json:"errors"`
	PerS    *float64 `json:"per_s"`
	Latency Latency  `json:"latency_us"`
}

// What a figure is of.
const (
	Transaction = "transaction"
	Statement   = "statement"
	Operation   = "operation" // a call of the tool's own, mostly one statement
	Row         = "row"
)

// Latency is in microseconds.
type Latency struct {
	Mean        *float64           `json:"mean"`
	StdDev      *float64           `json:"stddev"`
	Min         *float64           `json:"min"`
	Max         *float64           `json:"max"`
	Percentiles map[string]float64 `json:"percentiles"` // by their number: "95", "99.9"
}

// none tells that nothing is known of latencies.
func (l *Latency) none() bool {
	return l.Mean == nil && l.Min == nil && l.Max == nil && len(l.Percentiles) == 0
}

// Mark is a reason why figures of a run must not be held against a trace's.
type Mark struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

var (
	markOther     = Mark{"other_tool", "reported by another tool, which timed at its own place: there are no single events to compare, so there is no verdict"}
	markMeans     = Mark{"no_percentiles", "averages and no percentiles: they say nothing of the tail"}
	markNoLatency = Mark{"no_latency", "throughput only: no latency was reported"}
	markWhole     = Mark{"per_transaction", "latencies of whole transactions: do not hold them against those of single statements"}
	markRows      = Mark{"per_row", "counts rows, many to a statement"}
	markDerived   = Mark{"derived_mean", "the average is computed from clients and throughput (pgbench timed no transaction): it includes the client's own time"}
	markScheduled = Mark{"scheduled", "latency counts from when a transaction was due (-R): the traces' response time is of that kind, service time is not"}
	markPartial   = Mark{"partial", "there is no final report: totals are computed from the progress lines, to their rounding"}
	markGrid      = Mark{"coarse_percentiles", "sysbench rounds percentiles to steps of 1.8%"}
	markGrid05    = Mark{"coarse_percentiles", "sysbench 0.5 tells an approximate percentile"}
)

// mark adds those that the figures themselves give reason for.
func (r *Run) mark() {
	marks := []Mark{markOther}
	unit := func(u string) bool {
		for i := range r.Figures {
			if r.Figures[i].Unit == u {
				return true
			}
		}
		return false
	}
	means, timed := false, false
	for i := range r.Figures {
		l := &r.Figures[i].Latency
		timed = timed || !l.none()
		means = means || l.Mean != nil && len(l.Percentiles) == 0
	}
	for _, m := range []struct {
		mark Mark
		of   bool
	}{
		{markWhole, timed && unit(Transaction)},
		{markRows, unit(Row)},
		{markNoLatency, !timed},
		{markMeans, means},
	} {
		if m.of {
			marks = append(marks, m.mark)
		}
	}
	r.Marks = append(marks, r.Marks...)
}

// millis is a latency in the unit of reports.
func millis(ms float64) *float64 { return new(ms * 1e3) }

// mean adds up averages by their weights.
type mean struct{ sum, weight float64 }

func (m *mean) add(value, weight float64) {
	m.sum += value * weight
	m.weight += weight
}

func (m *mean) value() *float64 {
	if m.weight <= 0 || math.IsInf(m.sum, 0) {
		return nil
	}
	return new(m.sum / m.weight)
}
