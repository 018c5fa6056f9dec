package replay

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/trace"
)

func TestLostConnection(t *testing.T) {
	tp := newTape(t)
	a, b := tp.session(0, nil), tp.session(0, nil)
	for n, sql := range []string{"select 1", "drop me", "select 2", "select 3"} {
		a.query(at(n), ms, sql)
		b.query(at(n), ms, "select 1")
	}
	a.end(at(9))
	b.end(at(9))
	f := &fake{drop: func(sql string) bool { return sql == "drop me" }}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 8, OK: 5, Lost: 1, Unsent: 2})
	if sum.Reasons[reasonServerGone] != 1 || sum.Reasons[reasonLost] != 2 || sum.SessionsLost != 1 {
		t.Errorf("%v, %d lost", sum.Reasons, sum.SessionsLost)
	}
}

func TestRefusedConnections(t *testing.T) {
	tp := newTape(t)
	for range 10 {
		s := tp.session(0, nil)
		s.query(at(0), ms, "select 1")
		s.end(at(1))
	}
	f := &fake{full: func(n int) bool { return n >= 4 }}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 10, OK: 4, Unsent: 6})
	if sum.Reasons[reasonUnconnect] != 6 || sum.EventErrors["53300"] != 6 || sum.SessionsFailed != 6 || len(sum.Warnings) == 0 {
		t.Errorf("%v %v %d %v", sum.Reasons, sum.EventErrors, sum.SessionsFailed, sum.Warnings)
	}
}

// The client vanished with a statement running; so does the replay.
func TestClientThatWentAway(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.event(what{op: trace.OpQuery, bytes: query("select slow"), at: at(0), took: time.Second, status: trace.Lost, reason: "client_gone"})
	s.event(what{op: trace.OpEnd, at: at(5), reason: "client_gone"})
	f := &fake{work: works(100 * ms)}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 1, Lost: 1})
	if sum.Reasons["client_gone"] != 1 || sum.SessionsLost != 0 || sum.Events.OK != 2 {
		t.Errorf("%v, %d lost, %+v", sum.Reasons, sum.SessionsLost, sum.Events)
	}
}

// A trace may end before its sessions do.
func TestSessionsWithoutAnEnd(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.query(at(0), ms, "begin")
	s.query(at(1), ms, "insert 1")
	mustTally(t, play(t, tp, &fake{}), Tally{Captured: 2, OK: 2})
}

// A session that was open when the recording began connects before the clock
// starts and has its prepared statements.
func TestSessionThatWasOpenAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		tp.check(tp.w.State(&trace.State{
			Session: 7, Ordinal: 40, Start: tapeStart, Database: "shop", Transaction: "idle", Sets: [][]byte{[]byte("set a = 1")},
			Statements: []trace.Prepared{{Name: []byte("p1"), Message: parse("p1", "select 1"), Ordinal: 3}},
		}))
		s := &taped{tape: tp, id: 7, next: 40}
		s.extended(1, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'I')
		s.end(at(3))
		f := &fake{}
		sum := play(t, tp, f, original)
		mustTally(t, sum, Tally{Captured: 1, OK: 1})
		mustSQL(t, f, []string{"set a = 1", "select 1"})
		if sum.Diverged != 0 || sum.Events.Captured != 2 {
			t.Errorf("%+v", sum)
		}
	})
}

// Replies that come in a later block are joined: the next request waits for
// them, and they are compared.
func TestLateReplies(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	slow := s.event(what{op: trace.OpQuery, bytes: query("select slow"), at: at(0), late: true})
	tp.check(tp.w.Flush())
	reply := what{took: 5 * time.Second, rows: 2}.reply()
	tp.check(tp.w.Reply(s.id, slow, &reply, 0))
	tp.check(tp.w.Flush())
	s.query(6*time.Second, ms, "select 2")
	s.end(7 * time.Second)
	f := &fake{work: func(sql string) time.Duration {
		if sql == "select slow" {
			return 20 * ms
		}
		return 0
	}}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 2, OK: 2})
	if sum.Compared != 2 || sum.DivergedRows != 1 {
		t.Errorf("compared %d, rows diverged %d", sum.Compared, sum.DivergedRows)
	}
	if got := f.offsets(); got[1] < 20*ms {
		t.Errorf("the second request did not wait: %v", got)
	}
}

func TestCancel(t *testing.T) {
	for _, c := range []struct {
		name    string
		work    time.Duration // of the statement, in the replay
		outcome string
	}{
		{"in time", time.Minute, "ok"},
		{"too late", 10 * ms, reasonTooLate},
	} {
		for _, pace := range []string{PaceOriginal, PaceClosed} {
			t.Run(c.name+" "+pace, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tp := newTape(t)
					s := tp.session(0, nil)
					s.query(at(0), ms, "select 1")
					n := s.event(what{op: trace.OpQuery, bytes: query("select slow"), at: at(1), took: time.Second, status: trace.Error, reason: "57014"})
					tp.cancel(at(1)+990*ms, s.id, n)
					s.query(2*time.Second, ms, "select 2")
					s.end(3 * time.Second)
					f := &fake{work: func(sql string) time.Duration {
						if sql == "select slow" {
							return c.work
						}
						return ms
					}}
					began := time.Now()
					sum := play(t, tp, f, func(o *Options) { o.Pace = pace })
					mustHold(t, sum)
					if c.outcome == "ok" {
						if sum.Errors["57014"] != 1 || f.shots != 1 || sum.Diverged != 0 {
							t.Errorf("errors %v, %d cancels sent", sum.Errors, f.shots)
						}
					} else if sum.EventReasons[c.outcome] != 1 || f.shots != 0 {
						t.Errorf("reasons %v, %d cancels sent", sum.EventReasons, f.shots)
					}
					if took := time.Since(began); took > 4*time.Second {
						t.Errorf("took %v", took)
					}
					if sum.Sessions != 2 || sum.Events.Captured != 6 {
						t.Errorf("%d sessions, %+v", sum.Sessions, sum.Events)
					}
				})
			})
		}
	}
}

func TestCancelOfSomebodyUnknown(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	tp.cancel(at(0), 0, 0)
	tp.cancel(at(0), 424242, 1)
	s.query(at(1), ms, "select 1")
	s.end(at(2))
	f := &fake{}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 1, OK: 1})
	if sum.EventReasons[reasonUnknownTarget] != 2 || f.shots != 0 {
		t.Errorf("%v", sum.EventReasons)
	}
}

// Whatever the trace and whatever the server does, every event that was read
// ends in one class, and nobody hangs.
func TestAccountingUnderFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tp := newTape(t)
		for range rapid.IntRange(1, 5).Draw(rt, "sessions") {
			randomSession(rt, tp)
		}
		seed := rapid.Uint64().Draw(rt, "faults")
		var n atomic.Uint64
		chance := func(of uint64) bool {
			x := (n.Add(1) ^ seed) * 0x9e3779b97f4a7c15
			return (x>>33)%of == 0
		}
		f := &fake{
			fail: func(string) string {
				if chance(6) {
					return "XX000"
				}
				return ""
			},
			drop: func(string) bool { return chance(40) },
			full: func(int) bool { return chance(12) },
		}
		o := Options{connect: f, Clock: clock.NewTimers(), Pace: PaceClosed}
		if rapid.Bool().Draw(rt, "original") {
			o.Pace, o.Speed = PaceOriginal, 100
		}
		if rapid.Bool().Draw(rt, "short") {
			o.Duration = 5 * ms
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		sum, err := Run(ctx, tp.reader(), o)
		if err != nil {
			rt.Fatal(err)
		}
		f.done.Wait()
		if sum.Partial {
			rt.Fatalf("it hung: %+v", sum)
		}
		if !sum.Accounted {
			rt.Fatalf("%+v\n%v", sum, sum.Why)
		}
	})
}

// randomSession adds requests of all kinds, in some of which the client did
// not wait.
func randomSession(rt *rapid.T, tp *tape) {
	s := tp.session(0, nil)
	now := 10 * ms
	statements := []string{"select 1", "begin", "insert 1", "commit", "rollback", "savepoint a", "rollback to a"}
	for range rapid.IntRange(0, 25).Draw(rt, "requests") {
		sql := rapid.SampledFrom(statements).Draw(rt, "sql")
		took := time.Duration(rapid.IntRange(0, 3).Draw(rt, "took")) * ms
		e := what{op: trace.OpQuery, bytes: query(sql), at: now, took: took, state: rapid.SampledFrom([]byte("ITE")).Draw(rt, "state")}
		if rapid.IntRange(0, 9).Draw(rt, "bad") == 0 {
			e.status, e.reason = trace.Error, "23505"
		}
		switch rapid.IntRange(0, 9).Draw(rt, "kind") {
		case 0:
			e.op, e.bytes = trace.OpPrepare, join(parse("p1", sql), syncs())
		case 1:
			e.op, e.bytes = trace.OpExecute, join(bind("p1"), execute(), syncs())
		case 2:
			e.op, e.bytes, e.open = trace.OpExecute, pbes(sql, false), true
		case 3:
			e.op, e.bytes = trace.OpExecute, pbes(sql, true)
		case 4:
			e.op, e.bytes = trace.OpClose, join(closes("p1"), syncs())
		case 5:
			e.redact = true
		case 6:
			s.event(what{op: trace.OpQuery, bytes: query("copy t from stdin"), at: now, took: 3 * ms})
			e.op, e.bytes, e.took = trace.OpCopy, join(copyData(strings.Repeat("x", 100)), copyDone()), 0
		case 7:
			e.op, e.bytes = trace.OpExecute, join(parse("", sql), bind(""), execute(), flushes())
		}
		s.event(e)
		now += time.Duration(rapid.IntRange(0, 4).Draw(rt, "think")) * ms
		if rapid.IntRange(0, 9).Draw(rt, "flush") == 0 {
			tp.check(tp.w.Flush())
		}
	}
	switch rapid.IntRange(0, 3).Draw(rt, "end") {
	case 0:
		s.event(what{op: trace.OpEnd, at: now, reason: "client_gone"})
	case 1:
	default:
		s.end(now)
	}
}
