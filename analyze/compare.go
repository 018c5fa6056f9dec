package analyze

// Change is how a run's figure differs from the first run's. Whether it means
// anything is a verdict's to say; its interval is null until one is given.
type Change struct {
	Metric string      `json:"metric"`
	Pct    *float64    `json:"pct"` // null where the first run's figure is 0
	CI     *[2]float64 `json:"ci"`
	Pairs  *uint64     `json:"pairs"`
	TimeUS float64     `json:"time_us"` // what it adds to the total service time, at this run's count
}

// metric is what runs are compared by: unlike a percentile, the mean adds up
// to the total time that reports rank by.
const metric = "service_mean"

// compare gives each run its change against the first, and returns that of the
// second, which is the one a comparison of two is about.
func compare(runs []Figures) *Change {
	for i := range runs[min(1, len(runs)):] {
		runs[i+1].Change = change(runs[0].Service, runs[i+1].Service)
	}
	if len(runs) < 2 {
		return nil
	}
	return runs[1].Change
}

func change(base, run *Latency) *Change {
	if base == nil || run == nil {
		return nil
	}
	c := &Change{Metric: metric, TimeUS: (run.Mean - base.Mean) * float64(run.Count)}
	if base.Mean > 0 {
		c.Pct = new(100 * (run.Mean/base.Mean - 1))
	}
	return c
}
