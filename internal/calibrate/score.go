package calibrate

import (
	"runtime"
	"sync"

	"github.com/retrace-db/retrace/analyze"
	"github.com/retrace-db/retrace/trace"
)

// Score counts verdicts over seeds.
type Score struct {
	Seeds int
	// Two runs of the same.
	Verdicts map[analyze.Verdict]int // of fingerprints
	Totals   map[analyze.Verdict]int
	Alarms   int // reports with an improved or degraded fingerprint
	// A run with changes against one without.
	ShiftFound int
	TailFound  int // at p99
	TailMoved  int // and taken for a shift of the median
	Others     int // fingerprints without a change that are improved or degraded
}

// Rate is a count as a share of the seeds.
func (s *Score) Rate(n int) float64 { return float64(n) / float64(s.Seeds) }

// Share is that of fingerprints with a verdict, in comparisons of the same.
func (s *Score) Share(v analyze.Verdict) float64 {
	all := 0
	for _, n := range s.Verdicts {
		all += n
	}
	return float64(s.Verdicts[v]) / float64(max(all, 1))
}

// Wrong is the share of verdicts on the same that see a change.
func (s *Score) Wrong() float64 { return s.Share(analyze.Improved) + s.Share(analyze.Degraded) }

// Calibrate compares runs of seeds 1 to n; paired says whether they are of the
// same trace.
func Calibrate(w Workload, seeds int, paired bool) *Score {
	s := &Score{Seeds: seeds, Verdicts: map[analyze.Verdict]int{}, Totals: map[analyze.Verdict]int{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for seed := range uint64(seeds) {
		free <- struct{}{}
		wg.Go(func() {
			r := w.compare(seed, paired)
			mu.Lock()
			s.add(r)
			mu.Unlock()
			<-free
		})
	}
	wg.Wait()
	return s
}

// compare gives the report of a run, one of the same and one with changes.
func (w Workload) compare(seed uint64, paired bool) *analyze.Report {
	a := analyze.New(analyze.Options{})
	for i, changed := range []bool{false, false, true} {
		h := &trace.Header{Trace: "t", MadeBy: trace.ByReplay, Run: &trace.Run{Source: "t", Pace: "closed"}}
		if !paired {
			h.Run.Source = string(rune('a' + i))
		}
		a.AddEvents([]string{"base", "same", "changed"}[i], h, w.Run(3*seed+uint64(i), changed))
	}
	return a.Report()
}

func (s *Score) add(r *analyze.Report) {
	s.Totals[r.Total.Runs[1].Change.Verdict]++
	alarm := false
	for i := range r.Fingerprints {
		f := &r.Fingerprints[i]
		v := f.Runs[1].Change.Verdict
		s.Verdicts[v]++
		alarm = alarm || moved(v)
		changed := &f.Runs[2]
		switch f.SQL {
		case Statement(Shifted):
			s.ShiftFound += count(changed.Median.Verdict == analyze.Degraded)
		case Statement(Tailed):
			s.TailFound += count(changed.Tail != nil && changed.Tail.Verdict == analyze.Degraded)
			s.TailMoved += count(moved(changed.Median.Verdict))
		default:
			s.Others += count(moved(changed.Change.Verdict))
		}
	}
	s.Alarms += count(alarm)
}

func moved(v analyze.Verdict) bool { return v == analyze.Improved || v == analyze.Degraded }

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
