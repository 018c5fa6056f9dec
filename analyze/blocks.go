package analyze

import (
	"math"

	"github.com/retrace-db/retrace/analyze/stat"
)

const (
	maxBlocks = 60            // of a run, for statistics
	minBlock  = 1_000_000_000 // ns: what is closer together is not taken for independent
)

// clock divides the time of a run into blocks: a sixtieth of it each, or a
// second if that is longer.
type clock struct {
	origin int64 // tick that samples count from
	first  int64 // start of the first event
	until  int64
}

func (c *clock) block(s *sample) int32 {
	length := max((c.until-c.first)/maxBlocks, minBlock)
	at := (c.origin+int64(s.at))*keepTick - c.first
	return int32(min(max(at/length, 0), maxBlocks-1))
}

// The scratch space of verdicts, used again for each fingerprint.
type scratch struct{ base, run []stat.Value }

// ratios are the log-ratios of the statements that both runs have, in blocks of
// the baseline's time.
func (w *scratch) ratios(base, run *sketch, c *clock) []stat.Value {
	w.base = w.base[:0]
	together(base, run, func(a, b *sample) {
		w.base = append(w.base, stat.Value{X: logOf(b.took) - logOf(a.took), Block: c.block(a)})
	})
	return w.base
}

// logs are the logarithms of a run's latencies, in blocks of its own time.
func logs(into []stat.Value, s *sketch, c *clock) []stat.Value {
	into = into[:0]
	for i := range s.samples {
		into = append(into, stat.Value{X: logOf(s.samples[i].took), Block: c.block(&s.samples[i])})
	}
	return into
}

// logOf takes what is below the clock's resolution for that: a statement that
// the one before it overtook has 0.
func logOf(ns float32) float64 { return math.Log(max(float64(ns), 1)) }
