package replay

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/trace"
)

// RP-20: a trace of ten seconds replayed three times takes thirty, in three equal
// parts, with every event once in each.
func TestLoop(t *testing.T) {
	const loops = 3
	for _, c := range []struct {
		how  func(*Options)
		took time.Duration
	}{
		{original, 30 * time.Second},
		{thinking, 27 * time.Second}, // the statement that took a second takes none
		{func(o *Options) { o.Pace = PaceClosed }, 0},
		{rated(2), 8500 * ms}, // 18 requests
		{func(o *Options) { o.Pace, o.MaxGap = PaceOriginal, time.Second }, 21 * time.Second}, // of each loop, 3 s are cut
	} {
		synctest.Test(t, func(t *testing.T) {
			tp := newTape(t)
			tp.check(tp.w.State(&trace.State{Session: 7, Ordinal: 40, Start: tapeStart, Database: "shop", Transaction: "idle"}))
			mid := &taped{tape: tp, id: 7, next: 40} // open from beginning to end
			s := tp.session(0, nil)
			s.query(1000*ms, 0, "select 1")
			victim := s.query(3*time.Second, time.Second, "select slow")
			tp.cancel(3500*ms, s.id, victim)
			tp.check(tp.w.Flush())
			for _, at := range []time.Duration{4500 * ms, 5000 * ms, 7500 * ms} {
				mid.query(at, 0, "select 2")
			}
			s.end(9 * time.Second)
			late := tp.session(9500*ms, nil)
			late.query(10*time.Second, 0, "select 3")
			recorded := tp.reader()
			again := func(trace.ReadOptions) (*trace.Reader, error) {
				return trace.NewReader(bytes.NewReader(tp.buf.Bytes()), "again"), nil
			}
			var run bytes.Buffer
			o := Options{connect: &fake{}, Clock: clock.NewTimers(), Loops: loops, Again: again, Run: &run}
			c.how(&o)
			sum, err := Run(t.Context(), recorded, o)
			if err != nil {
				t.Fatal(err)
			}
			mustTally(t, sum, Tally{Captured: loops * 6, OK: loops * 6})
			if len(sum.Loops) != loops || sum.Sessions != loops*4 {
				t.Fatalf("%d loops, %d sessions", len(sum.Loops), sum.Sessions)
			}
			for i, l := range sum.Loops {
				if l.Statements != (Tally{Captured: 6, OK: 6}) || l.ServiceUS == nil {
					t.Errorf("%s, loop %d: %+v", sum.Pace, i, l)
				}
			}
			if took := time.Duration(sum.ElapsedS * 1e9); (took - c.took).Abs() > 20*ms {
				t.Errorf("%s: took %v, want %v", sum.Pace, took, c.took)
			}
			mustNameLoops(t, run.Bytes(), loops)
		})
	}
}

// mustNameLoops checks that a run names each event once, and tells its loop.
func mustNameLoops(t *testing.T, run []byte, loops int) {
	t.Helper()
	r := trace.NewReader(bytes.NewReader(run), "run")
	names := map[[2]uint64]int{}
	loopOf := map[uint64]int{}
	var b trace.Batch
	for r.Next(&b) == nil {
		for i := range b.States {
			loopOf[b.States[i].Session] = b.States[i].Loop
		}
		for i := range b.Events {
			e := &b.Events[i]
			source := trace.SourceSession(e.Session, loopOf[e.Session])
			if e.Entry.Op != trace.OpCancel && source != 7 && (source < 1000 || source > 1010) {
				t.Errorf("session %x of loop %d is no session of the source", e.Session, loopOf[e.Session])
			}
			names[[2]uint64{source, e.Ordinal}]++
			if e.Entry.Op == trace.OpCancel {
				delete(names, [2]uint64{source, e.Ordinal})
			}
		}
	}
	if len(names) == 0 || r.Header().Run.Loops != loops {
		t.Errorf("%d names, %d loops", len(names), r.Header().Run.Loops)
	}
	for name, n := range names {
		if n != loops {
			t.Errorf("event %d of session %d is there %d times", name[1], name[0], n)
		}
	}
}

func TestLoopNeedsATraceThatCanBeReadAgain(t *testing.T) {
	tp := newTape(t)
	tp.session(0, nil).end(time.Second)
	_, err := Run(t.Context(), tp.reader(), Options{connect: &fake{}, Loops: 2})
	if usage := (*UsageError)(nil); !errors.As(err, &usage) {
		t.Errorf("got %v", err)
	}
}
