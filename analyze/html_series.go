package analyze

// drawn is a run over time, in columns. Times are seconds since its begin.
type drawn struct {
	T      []float64  `json:"t"`
	PerS   []*float64 `json:"perS"`
	Failed []*float64 `json:"failed"` // per second
	P50    []*float64 `json:"p50"`    // µs; null where nothing succeeded
	P99    []*float64 `json:"p99"`
}

const (
	mostPoints  = 150 // of a line
	leastPoints = 30  // that are kept rather than having many statements in each
	enough      = 100 // statements in a bucket, for its p99
)

// drawSeries brings all runs to one width, so that they can lie on each other.
func drawSeries(runs []Run) []drawn {
	width := int64(0)
	for i := range runs {
		if s := runs[i].series; s != nil && len(s.buckets) > 0 {
			width = max(width, s.drawnWidth())
		}
	}
	all := []drawn{}
	for i := range runs {
		d := drawn{T: []float64{}, PerS: []*float64{}, Failed: []*float64{}, P50: []*float64{}, P99: []*float64{}}
		if s := runs[i].series; s != nil && len(s.buckets) > 0 {
			d.add(s.coarser(width), &runs[i].clock)
		}
		all = append(all, d)
	}
	return all
}

// drawnWidth is wide enough for a picture, and for percentiles that mean something.
func (s *series) drawnWidth() int64 {
	width, points, each := s.width, len(s.buckets), s.total()/uint64(len(s.buckets))
	for points > mostPoints || each < enough && points > leastPoints {
		width, points, each = 2*width, (points+1)/2, 2*each
	}
	return width
}

func (d *drawn) add(s *series, c *clock) {
	for i, b := range s.buckets {
		from := max((s.first+int64(i))*s.width, c.first)
		until := min((s.first+int64(i)+1)*s.width, max(c.until, c.first+1))
		seconds := float64(until-from) / 1e9
		if until <= from || until-from < s.width/4 && len(s.buckets) > 1 {
			continue // the rate of a sliver at either end says nothing
		}
		if b == nil {
			b = &bucket{}
		}
		d.T = append(d.T, round(float64((from-c.first)/2+(until-c.first)/2)/1e9))
		d.PerS = append(d.PerS, new(round(float64(b.ok)/seconds)))
		d.Failed = append(d.Failed, new(round(float64(b.failed)/seconds)))
		d.P50, d.P99 = append(d.P50, b.drawn(50)), append(d.P99, b.drawn(99))
	}
}

func (b *bucket) drawn(pct float64) *float64 {
	ns, ok := b.quantile(pct)
	if !ok {
		return nil
	}
	return new(round(ns / 1e3))
}
