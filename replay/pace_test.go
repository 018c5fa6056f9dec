package replay

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/trace"
)

const ms = time.Millisecond

// offsets are when the server got its statements, counted from the first.
func (f *fake) offsets() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []time.Duration
	for _, s := range f.got {
		all = append(all, s.at.Sub(f.got[0].at))
	}
	return all
}

func mustOffsets(t *testing.T, f *fake, want ...time.Duration) {
	t.Helper()
	got := f.offsets()
	if len(got) != len(want) {
		t.Fatalf("the server got statements at %v\nwant %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("the server got statements at %v\nwant %v", got, want)
		}
	}
}

func works(d time.Duration) func(string) time.Duration {
	return func(string) time.Duration { return d }
}

func TestOriginalPaceKeepsTheSchedule(t *testing.T) {
	for _, speed := range []float64{0.5, 1, 2, 10} {
		t.Run(fmt.Sprint(speed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tp := newTape(t)
				a, b := tp.session(0, nil), tp.session(0, nil)
				a.query(10*ms, ms, "select 1")
				b.query(40*ms, ms, "select 2")
				a.query(110*ms, ms, "select 3")
				b.query(1010*ms, ms, "select 4")
				a.end(2 * time.Second)
				b.end(2 * time.Second)
				f := &fake{work: works(ms)}
				s := play(t, tp, f, original, func(o *Options) { o.Speed = speed })
				mustTally(t, s, Tally{Captured: 4, OK: 4})
				scale := func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) }
				mustOffsets(t, f, 0, scale(30*ms), scale(100*ms), scale(1000*ms))
				if want := scale(2 * time.Second).Seconds(); math.Abs(s.ElapsedS-want) > 1e-6 {
					t.Errorf("took %v s, want %v", s.ElapsedS, want)
				}
				if s.ScheduleErrorUS.Max != 0 || !*s.KeptUp || *s.Speed != speed {
					t.Errorf("%+v %+v", s.ScheduleErrorUS, s)
				}
			})
		})
	}
}

// The server is slower than it was: a request waits for the reply its client
// had seen, however late that makes it, and is late by the target's fault.
func TestRequestsWaitForWhatTheirClientHadSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		s := tp.session(0, nil)
		s.query(10*ms, ms, "select 1")
		s.query(20*ms, ms, "select 2")
		s.query(30*ms, ms, "select 3")
		s.end(40 * ms)
		f := &fake{work: works(100 * ms)}
		sum := play(t, tp, f, original)
		mustTally(t, sum, Tally{Captured: 3, OK: 3})
		mustOffsets(t, f, 0, 100*ms, 200*ms)
		if sum.ScheduleErrorUS.Max != 0 {
			t.Errorf("schedule error %+v, though only the target was late", sum.ScheduleErrorUS)
		}
		if sum.LagUS.Max != 270_000 || *sum.KeptUp { // the end was due at 40 ms, the last reply came at 310
			t.Errorf("lag %+v, kept up %v", sum.LagUS, *sum.KeptUp)
		}
	})
}

// What the client sent without waiting goes out without waiting, in both paces.
func TestPipelinedRequestsDoNotWait(t *testing.T) {
	for _, pace := range []string{PaceOriginal, PaceClosed} {
		t.Run(pace, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tp := newTape(t)
				s := tp.session(0, nil)
				s.query(10*ms, 50*ms, "select 1")
				s.query(12*ms, 60*ms, "select 2") // while the first ran
				s.query(80*ms, ms, "select 3")    // after both
				s.end(100 * ms)
				sent := 0
				f := &fake{work: func(string) time.Duration { return 30 * ms }}
				sum := play(t, tp, f, func(o *Options) {
					o.Pace = pace
					o.Started = func(p *Progress) { sent++ }
				})
				mustTally(t, sum, Tally{Captured: 3, OK: 3})
				if pace == PaceOriginal {
					mustOffsets(t, f, 0, 30*ms, 70*ms) // the server ran the second once it was free
				} else {
					mustOffsets(t, f, 0, 30*ms, 60*ms)
				}
				if sent != 1 {
					t.Error("the counters were not handed out")
				}
			})
		})
	}
}

// A reply that comes while a pipelined request waits for its time is measured
// when it comes, not when that request is sent.
func TestRepliesAreReadWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		s := tp.session(0, nil)
		s.query(10*ms, 5*time.Second, "select 1")
		s.query(3*time.Second, 3*time.Second, "select 2")
		s.end(10 * time.Second)
		f := &fake{work: works(ms)}
		sum := play(t, tp, f, original)
		mustTally(t, sum, Tally{Captured: 2, OK: 2})
		if sum.ServiceUS.Max != 1000 {
			t.Errorf("service time up to %v µs, want 1000", sum.ServiceUS.Max)
		}
	})
}

func TestExtremeSpeeds(t *testing.T) {
	decade := 10 * 365 * 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		s := tp.session(0, nil)
		s.query(10*ms, ms, "select 1")
		s.query(decade, ms, "select 2")
		s.end(2 * decade)
		f := &fake{}
		sum := play(t, tp, f, original, func(o *Options) { o.Speed = 1e9 })
		mustTally(t, sum, Tally{Captured: 2, OK: 2})
		if sum.ElapsedS > 1 {
			t.Errorf("took %v s", sum.ElapsedS)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		s := tp.session(0, nil)
		s.query(10*ms, ms, "select 1")
		s.end(decade)
		sum := play(t, tp, &fake{}, original, func(o *Options) { o.Speed, o.Duration = 1e-9, 24*time.Hour })
		mustTally(t, sum, Tally{Captured: 1, Unsent: 1})
	})
}

// After the duration nothing is sent, and the rest is read and counted.
func TestDuration(t *testing.T) {
	for _, pace := range []string{PaceOriginal, PaceClosed} {
		t.Run(pace, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tp := newTape(t)
				for range 3 {
					s := tp.session(0, nil)
					for n := range 100 {
						s.query(time.Duration(n+1)*100*ms, 99*ms, "select 1")
					}
					s.end(20 * time.Second)
				}
				f := &fake{work: works(99 * ms)}
				sum := play(t, tp, f, func(o *Options) { o.Pace, o.Duration = pace, 5*time.Second })
				mustHold(t, sum)
				st := sum.Statements
				if st.Captured != 300 || st.Unsent != sum.Reasons["duration"] || st.OK+st.Unsent != 300 || sum.Partial {
					t.Errorf("%+v %v", st, sum.Reasons)
				}
				if st.OK < 3*48 || st.OK > 3*52 {
					t.Errorf("%d statements in 5 s", st.OK)
				}
				if sum.ElapsedS < 5 || sum.ElapsedS > 5.2 {
					t.Errorf("took %v s", sum.ElapsedS)
				}
			})
		})
	}
}

// A statement that is still running when nothing more is to be sent gets a
// while, and is then lost.
func TestStatementsInFlightAtTheEnd(t *testing.T) {
	for work, want := range map[time.Duration]Tally{
		3 * time.Second:  {Captured: 2, OK: 1, Unsent: 1},
		30 * time.Second: {Captured: 2, Lost: 1, Unsent: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			tp := newTape(t)
			s := tp.session(0, nil)
			s.query(10*ms, ms, "select 1")
			s.query(20*ms, ms, "select 2")
			s.end(30 * ms)
			sum := play(t, tp, &fake{work: works(work)}, func(o *Options) { o.Duration = time.Second })
			mustTally(t, sum, want)
			if sum.ElapsedS > 6.1 {
				t.Errorf("took %v s", sum.ElapsedS)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		for range 3 {
			s := tp.session(0, nil)
			for n := range 100 {
				s.query(time.Duration(n+1)*100*ms, 99*ms, "select 1")
			}
			s.end(3 * time.Hour)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		f := &fake{work: works(ms)}
		began := time.Now()
		sum, err := Run(ctx, tp.reader(), Options{connect: f, Clock: clock.NewTimers(), Pace: PaceOriginal})
		if err != nil {
			t.Fatal(err)
		}
		f.done.Wait()
		mustHold(t, sum)
		if !sum.Partial || sum.Statements.OK < 140 || sum.Statements.Unsent == 0 || sum.Reasons["interrupted"] != sum.Statements.Unsent {
			t.Errorf("%+v %v", sum.Statements, sum.Reasons)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("stopped after %v", took)
		}
	})
}

// In pace closed no more sessions are open than were when they were recorded,
// however fast they run.
func TestClosedPaceKeepsTheConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		for n := range 40 { // two at a time
			at := time.Duration(n) * time.Second
			s := tp.session(at, nil)
			s.query(at+10*ms, ms, "select 1")
			s.end(at + 1900*ms)
			if n%10 == 0 {
				tp.check(tp.w.Flush())
			}
		}
		f := &fake{work: works(10 * ms)}
		sum := play(t, tp, f)
		mustTally(t, sum, Tally{Captured: 40, OK: 40})
		if f.most > 2 || sum.PeakSessions > 2 {
			t.Errorf("%d sessions were open at once, recorded were 2", f.most)
		}
		if sum.ElapsedS > 0.5 {
			t.Errorf("took %v s", sum.ElapsedS)
		}
	})
}

// A recorder may see the beginning of a session before the end of the one whose
// client began it.
func TestSessionThatSeemsToBeginBeforeTheLastOneEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		a := tp.session(0, nil)
		a.query(10*ms, ms, "select slow")
		b := tp.session(12*ms, nil)
		b.query(20*ms, ms, "select 2")
		a.end(13 * ms)
		b.end(30 * ms)
		f := &fake{work: func(sql string) time.Duration {
			if sql == "select slow" {
				return time.Second
			}
			return 0
		}}
		mustTally(t, play(t, tp, f), Tally{Captured: 2, OK: 2})
		if got := f.offsets(); got[1] < time.Second {
			t.Errorf("the sessions overlapped: %v", got)
		}
	})
}

func TestPaceFollowsTheTrace(t *testing.T) {
	for timing, want := range map[string]string{trace.TimingOriginal: PaceOriginal, trace.TimingClosedLoop: PaceClosed} {
		tp := newTape(t, func(h *trace.Header, _ *trace.WriterOptions) { h.Timing = timing })
		s := tp.session(0, nil)
		s.query(ms, ms, "select 1")
		s.end(2 * ms)
		if sum := play(t, tp, &fake{}, func(o *Options) { o.Pace = "" }); sum.Pace != want {
			t.Errorf("timing %s: pace %s, want %s", timing, sum.Pace, want)
		}
	}
}
