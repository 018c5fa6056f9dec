package replay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrace-db/retrace/trace"
)

func thinking(o *Options) { o.Pace = PaceThink }

// A pause counts from the reply in the replay: a target twice as slow has the
// same pauses, and so less throughput. Nothing is late by a schedule.
func TestThinkPaceFollowsTheTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		s := tp.session(0, nil)
		s.query(11*ms, 10*ms, "select 1")
		s.query(41*ms, 10*ms, "select 2") // 20 ms after the reply
		s.query(56*ms, 10*ms, "select 3") // 5 ms after the reply
		s.end(100 * ms)
		f := &fake{work: works(100 * ms)}
		sum := play(t, tp, f, thinking)
		mustTally(t, sum, Tally{Captured: 3, OK: 3})
		mustOffsets(t, f, 0, 120*ms, 225*ms)
		if sum.LagUS != nil || sum.KeptUp != nil || sum.ScheduleErrorUS == nil || sum.ScheduleErrorUS.Max != 0 || *sum.Speed != 1 {
			t.Errorf("%+v", sum)
		}
	})
}

// The pause from the beginning of the recording counts for a session that was
// open then.
func TestThinkPaceOfAnOpenSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		tp.check(tp.w.State(&trace.State{Session: 7, Ordinal: 40, Start: tapeStart, Database: "shop", Transaction: "idle"}))
		s := &taped{tape: tp, id: 7, next: 40}
		other := tp.session(0, nil)
		s.query(300*ms, ms, "select 1")
		s.end(time.Second)
		other.end(2 * time.Second)
		f := &fake{}
		began := time.Now()
		mustTally(t, play(t, tp, f, thinking, func(o *Options) { o.Speed = 2 }), Tally{Captured: 1, OK: 1})
		if got := f.got[0].at.Sub(began); got != 150*ms {
			t.Errorf("sent after %v, want 150ms", got)
		}
	})
}
