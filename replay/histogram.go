package replay

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is the longest time a histogram tells apart. What is longer counts
// as this, and its exact value is kept as the maximum.
const longest = int64(24 * time.Hour)

// histogram is a distribution of times in ns. It is not for concurrent use.
type histogram struct {
	h   *hdrhistogram.Histogram
	max int64
}

func newHistogram() *histogram {
	return &histogram{h: hdrhistogram.New(1, longest, 3)}
}

func (h *histogram) record(ns int64) {
	h.max = max(h.max, ns)
	// It refuses only what is out of range, and this is not.
	_ = h.h.RecordValue(min(max(ns, 0), longest))
}

func (h *histogram) merge(o *histogram) {
	h.h.Merge(o.h) // the same range: nothing is dropped
	h.max = max(h.max, o.max)
}

func (h *histogram) count() int64 { return h.h.TotalCount() }

// quantile is the value at q percent.
func (h *histogram) quantile(q float64) int64 { return min(h.h.ValueAtQuantile(q), h.max) }

// Spread is a distribution in a few figures, in microseconds.
type Spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// spread is nil where there is no data.
func (h *histogram) spread() *Spread {
	if h.count() == 0 {
		return nil
	}
	return &Spread{P50: micros(h.quantile(50)), P99: micros(h.quantile(99)), Max: micros(h.max)}
}

func micros(ns int64) float64 { return float64(ns) / 1000 }
