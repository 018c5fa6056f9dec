package replay

import (
	"testing"
	"testing/synctest"
	"time"
)

// RP-04: three hours of silence take five seconds, and are counted.
func TestSilenceIsCut(t *testing.T) {
	record := func(t *testing.T) *tape {
		tp := newTape(t)
		a, b := tp.session(0, nil), tp.session(0, nil)
		a.query(1*time.Second, ms, "select 1")
		b.query(10*time.Second, time.Hour, "select 2") // no silence: it runs
		tp.check(tp.w.Flush())
		b.query(4*time.Hour+10*time.Second, ms, "select 3")
		a.query(4*time.Hour+12*time.Second, ms, "select 4")
		a.end(5 * time.Hour)
		b.end(5 * time.Hour)
		return tp
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		sum := play(t, record(t), f, original, func(o *Options) { o.MaxGap = 5 * time.Second })
		mustTally(t, sum, Tally{Captured: 4, OK: 4})
		mustOffsets(t, f, 0, 5001*ms, 5001*ms+time.Hour+5*time.Second, 5001*ms+time.Hour+7*time.Second)
		// Cut are 10 s - 1.001 s - 5 s, then 3 h - 5 s, then 1 h - 12.001 s - 5 s.
		cut := 3999*ms + 3*time.Hour - 5*time.Second + time.Hour - 17*time.Second - 1*ms
		if sum.GapsCut != 3 || time.Duration(sum.CutS*1e9).Round(ms) != cut || *sum.MaxGapS != 5 {
			t.Errorf("%d cuts, %v s in all; want 3, %v", sum.GapsCut, sum.CutS, cut)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		sum := play(t, record(t), f, thinking, func(o *Options) { o.MaxGap = 5 * time.Second })
		mustTally(t, sum, Tally{Captured: 4, OK: 4})
		// Each session's pauses: after its login, 1 is sent at 0.999 s and 4 at
		// 5.999 s, 2 at 5 s and 3 at 10 s.
		mustOffsets(t, f, 0, 4001*ms, 5000*ms, 9001*ms)
		if sum.GapsCut != 5 { // all but the first, and both ends
			t.Errorf("%d cuts", sum.GapsCut)
		}
	})
}
