package replay

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrace-db/retrace/trace"
)

func retry(n int) func(*Options) { return func(o *Options) { o.Retry = n } }

// failsTimes fails statements so many times each.
func failsTimes(code string, n int, texts ...string) func(string) string {
	var mu sync.Mutex
	left := map[string]int{}
	for _, text := range texts {
		left[text] = n
	}
	return func(sql string) string {
		mu.Lock()
		defer mu.Unlock()
		if left[sql] > 0 {
			left[sql]--
			return code
		}
		return ""
	}
}

func TestRetry(t *testing.T) {
	for name, c := range map[string]struct {
		fail    func(string) string
		tries   int
		want    Tally
		sql     []string
		retries uint64
		not     string
	}{
		"statement": {
			failsTimes("40001", 2, "insert 2"), 3,
			Tally{Captured: 6, OK: 6},
			[]string{"begin", "insert 1", "insert 2", "ROLLBACK", "begin", "insert 1", "insert 2", "ROLLBACK", "begin", "insert 1", "insert 2", "insert 3", "commit", "select 1"},
			2, "",
		},
		"commit": {
			failsTimes("40001", 1, "commit"), 1,
			Tally{Captured: 6, OK: 6},
			[]string{"begin", "insert 1", "insert 2", "insert 3", "commit", "ROLLBACK", "begin", "insert 1", "insert 2", "insert 3", "commit", "select 1"},
			1, "",
		},
		"autocommit": {
			failsTimes("40P01", 1, "select 1"), 1,
			Tally{Captured: 6, OK: 6},
			[]string{"begin", "insert 1", "insert 2", "insert 3", "commit", "select 1", "select 1"},
			1, "",
		},
		"exhausted": {
			failsTimes("40001", 9, "insert 2"), 1,
			Tally{Captured: 6, OK: 3, Error: 2, Skipped: 1},
			[]string{"begin", "insert 1", "insert 2", "ROLLBACK", "begin", "insert 1", "insert 2", "commit", "select 1"},
			1, "attempts",
		},
		"other errors": {
			failsTimes("23505", 1, "insert 2"), 3,
			Tally{Captured: 6, OK: 3, Error: 2, Skipped: 1},
			[]string{"begin", "insert 1", "insert 2", "commit", "select 1"},
			0, "",
		},
		"another error the second time": {
			func() func(string) string {
				first, second := failsTimes("40001", 1, "insert 3"), failsTimes("23505", 2, "insert 1")
				n := 0
				return func(sql string) string {
					if sql == "insert 1" {
						if n++; n == 1 {
							return ""
						}
						return second(sql)
					}
					return first(sql)
				}
			}(), 3,
			Tally{Captured: 6, OK: 2, Error: 2, Skipped: 2},
			[]string{"begin", "insert 1", "insert 2", "insert 3", "ROLLBACK", "begin", "insert 1", "commit", "select 1"},
			1, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tp := newTape(t)
			s := tp.session(0, nil)
			for n, sql := range []string{"begin", "insert 1", "insert 2", "insert 3", "commit", "select 1"} {
				s.query(at(n), ms, sql)
			}
			s.end(at(9))
			f := &fake{fail: c.fail}
			sum := play(t, tp, f, retry(c.tries))
			mustTally(t, sum, c.want)
			mustSQL(t, f, c.sql)
			if sum.Retries != c.retries || c.not != "" && sum.NotRetried[c.not] != 1 || c.not == "" && len(sum.NotRetried) > 0 {
				t.Errorf("%d retries, not retried %v", sum.Retries, sum.NotRetried)
			}
		})
	}
}

// What is prepared within the transaction is prepared again.
func TestRetryOfPrepares(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.query(at(0), ms, "begin")
	s.event(what{op: trace.OpPrepare, bytes: join(parse("p1", "insert 1"), syncs()), at: at(1), took: ms, state: 'T'})
	s.extended(2, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'T')
	s.extended(3, trace.OpExecute, join(parse("p2", "insert 2"), bind("p2"), execute(), syncs()), 'T')
	s.query(at(4), ms, "commit")
	s.extended(5, trace.OpExecute, join(bind("p2"), execute(), syncs()), 'I')
	s.end(at(9))
	f := &fake{fail: failsTimes("40001", 1, "insert 2")}
	sum := play(t, tp, f, retry(3))
	mustTally(t, sum, Tally{Captured: 5, OK: 5})
	mustSQL(t, f, []string{"begin", "insert 1", "insert 2", "ROLLBACK", "begin", "insert 1", "insert 2", "commit", "insert 2"})
	if len(sum.EventErrors) != 0 || sum.PreparedAgain != 0 {
		t.Errorf("%v, %d", sum.EventErrors, sum.PreparedAgain)
	}
}

// What failed when it was recorded is not sent again, nor what cannot be.
func TestNotRetried(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.event(what{op: trace.OpQuery, bytes: query("insert recorded"), at: at(0), took: ms, status: trace.Error, reason: "40001"})
	s.query(at(1), ms, "call p()")
	s.query(at(2), ms, "begin; insert 1; commit")
	s.event(what{op: trace.OpQuery, bytes: query("copy t from stdin"), at: at(4), took: 5 * ms})
	s.event(what{op: trace.OpCopy, bytes: join(copyData("1\n"), copyDone()), at: at(4) + ms})
	s.query(at(5), ms, "select 1")
	s.end(at(9))
	f := &fake{fail: failing("40001", "insert recorded", "call p()", "begin; insert 1; commit")}
	sum := play(t, tp, f, retry(3))
	mustTally(t, sum, Tally{Captured: 5, OK: 2, Error: 3})
	if sum.Retries != 0 || sum.NotRetried["commits"] != 2 || len(sum.NotRetried) != 1 {
		t.Errorf("%d retries, not retried %v", sum.Retries, sum.NotRetried)
	}
}

// The time that failed attempts take is none of retrace's lateness, and not
// hidden: it is part of what comes after it is due.
func TestRetryTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		s := tp.session(0, nil)
		s.query(at(0), ms, "update 1")
		s.query(at(1), ms, "update 2")
		s.end(at(900))
		f := &fake{fail: failsTimes("40001", 3, "update 1"), work: func(string) time.Duration { return 100 * ms }}
		sum := play(t, tp, f, original, retry(3))
		mustTally(t, sum, Tally{Captured: 2, OK: 2})
		if sum.Retries != 3 || sum.Retried != 1 || sum.RetriedUS.Max < 4e5 || sum.RetriedUS.Max > 4.1e5 {
			t.Errorf("%d retries of %d transactions in %+v", sum.Retries, sum.Retried, sum.RetriedUS)
		}
		if sum.LagUS.Max < 2.9e5 || sum.ScheduleErrorUS.Max > 1e4 || sum.ServiceUS.Max > 1.1e5 {
			t.Errorf("lag %+v, late %+v, service %+v", sum.LagUS, sum.ScheduleErrorUS, sum.ServiceUS)
		}
	})
}

// A session that is lost in the middle of another attempt is lost, and counted.
func TestRetryOfALostSession(t *testing.T) {
	tp := newTape(t)
	s, other := tp.session(0, nil), tp.session(0, nil)
	for n, sql := range []string{"begin", "insert 1", "insert 2", "commit", "select 1"} {
		s.query(at(n), ms, sql)
	}
	other.query(at(8), ms, "update waits")
	s.end(at(9))
	other.end(at(9))
	begun := 0
	f := &fake{fail: failsTimes("40001", 1, "insert 2"), drop: func(sql string) bool {
		if sql == "insert 1" {
			begun++
		}
		return sql == "insert 1" && begun == 2
	}}
	sum := play(t, tp, f, retry(3), commitOrder)
	if !sum.Accounted || sum.Statements.Captured != 6 || sum.Statements.Lost != 1 || sum.Statements.Unsent != 2 || sum.OrderReleased != 0 {
		t.Errorf("%+v %v, %d released", sum.Statements, sum.Reasons, sum.OrderReleased)
	}
}
