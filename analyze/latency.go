package analyze

import (
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of the histograms in nanoseconds, at three digits. It is constant
// so that any two can be merged; what lies outside is clamped, and counted.
const (
	lowest  = 1
	highest = 24 * 3600 * 1_000_000_000
	digits  = 3
)

// percentiles of every distribution, in the order of Latency's fields. The one
// rule everywhere: the value at percentile p of n samples is the sample of rank
// ⌊p·n/100 + ½⌋, at least 1; it is exact to three digits, and never outside of
// the exact minimum and maximum.
var percentiles = []float64{50, 95, 99, 99.9}

// histogram is what dense and packed histograms of the library share.
type histogram interface {
	RecordValue(int64) error
	ValueAtPercentilesSlice([]float64) []int64
}

// distribution holds durations: a histogram, and beside it what a histogram
// only approximates. The zero value takes a packed histogram at its first
// sample, which costs memory by the number of different values seen.
type distribution struct {
	hist    histogram
	count   uint64
	sumLow  uint64 // 128 bits: ten thousand busy sessions overflow 64 in eleven days
	sumHigh uint64
	min     int64
	max     int64
	clamped uint64
}

// dense makes a distribution that is faster to record into and always large:
// for the few that every event goes through.
func dense() distribution {
	return distribution{hist: hdrhistogram.New(lowest, highest, digits)}
}

func (d *distribution) record(ns int64) {
	if ns < 0 || ns > highest {
		d.clamped++
		ns = min(max(ns, 0), highest)
	}
	if d.hist == nil {
		d.hist = hdrhistogram.NewPacked(lowest, highest, digits)
	}
	if d.hist.RecordValue(ns) != nil {
		d.clamped++ // cannot be after the clamp; it must not go unseen
		return
	}
	if d.count == 0 || ns < d.min {
		d.min = ns
	}
	d.max = max(d.max, ns)
	d.count++
	var carry uint64
	d.sumLow, carry = bits.Add64(d.sumLow, uint64(ns), 0)
	d.sumHigh += carry
}

// merge adds another distribution; both are dense.
func (d *distribution) merge(e *distribution) {
	if e.count == 0 {
		return
	}
	d.hist.(*hdrhistogram.Histogram).Merge(e.hist.(*hdrhistogram.Histogram))
	if d.count == 0 || e.min < d.min {
		d.min = e.min
	}
	d.max = max(d.max, e.max)
	d.count, d.clamped = d.count+e.count, d.clamped+e.clamped
	var carry uint64
	d.sumLow, carry = bits.Add64(d.sumLow, e.sumLow, 0)
	d.sumHigh += e.sumHigh + carry
}

func (d *distribution) sum() float64 {
	return float64(d.sumHigh)*(1<<64) + float64(d.sumLow)
}

// mean is 0 without samples.
func (d *distribution) mean() float64 {
	if d.count == 0 {
		return 0
	}
	return d.sum() / float64(d.count)
}

// latency puts the distribution into the units of reports, nil without samples.
func (d *distribution) latency() *Latency {
	if d.count == 0 {
		return nil
	}
	at := d.hist.ValueAtPercentilesSlice(percentiles)
	for i := range at {
		at[i] = min(max(at[i], d.min), d.max)
	}
	return &Latency{
		Count: d.count, Clamped: d.clamped,
		Sum: d.sum() / 1e3, Mean: d.mean() / 1e3, Min: micros(d.min), Max: micros(d.max),
		P50: micros(at[0]), P95: micros(at[1]), P99: micros(at[2]), P999: micros(at[3]),
	}
}

func micros(ns int64) float64 { return float64(ns) / 1e3 }

// Latency sums up a distribution in microseconds.
type Latency struct {
	Count   uint64  `json:"count"` // samples; only statements that were answered without an error are
	Mean    float64 `json:"mean"`
	Min     float64 `json:"min"`
	P50     float64 `json:"p50"`
	P95     float64 `json:"p95"`
	P99     float64 `json:"p99"`
	P999    float64 `json:"p999"`
	Max     float64 `json:"max"`
	Sum     float64 `json:"sum"`
	Clamped uint64  `json:"clamped"` // samples below 0 or over 24 hours, counted at that end
}
