package replay

import (
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/trace"
)

// play replays a tape against a fake server.
func play(t testing.TB, tp *tape, f *fake, change ...func(*Options)) *Summary {
	t.Helper()
	o := Options{connect: f, Clock: clock.NewTimers(), Pace: PaceClosed}
	for _, c := range change {
		c(&o)
	}
	s, err := Run(t.Context(), tp.reader(), o)
	if err != nil {
		t.Fatal(err)
	}
	f.done.Wait()
	return s
}

func original(o *Options) { o.Pace = PaceOriginal }

func mustHold(t testing.TB, s *Summary) {
	t.Helper()
	if !s.Accounted || !s.Valid {
		t.Errorf("accounted %v, valid %v: %v; %+v", s.Accounted, s.Valid, s.Why, s.Events)
	}
}

func mustTally(t testing.TB, s *Summary, want Tally) {
	t.Helper()
	mustHold(t, s)
	if s.Statements != want {
		t.Errorf("statements\n got %+v\nwant %+v\nreasons %v errors %v", s.Statements, want, s.Reasons, s.Errors)
	}
}

func TestAllGoesWell(t *testing.T) {
	tp := newTape(t)
	for i := range 3 {
		s := tp.session(time.Duration(i)*time.Millisecond, map[string]string{"application_name": "x"})
		for n := range 100 {
			s.query(time.Duration(10+n)*time.Millisecond, 500*time.Microsecond, "select 1")
		}
		s.end(time.Second)
	}
	f := &fake{}
	s := play(t, tp, f)
	mustTally(t, s, Tally{Captured: 300, OK: 300})
	if s.Sessions != 3 || s.Events.Captured != 306 || s.Compared != 300 || s.Diverged != 0 {
		t.Errorf("%+v", s)
	}
	if got := len(f.sql(-1)); got != 300 {
		t.Errorf("the server saw %d statements", got)
	}
	if f.settings[0]["application_name"] != "x" {
		t.Errorf("settings %v", f.settings[0])
	}
}

// What happens only in the replay makes the server refuse the rest of the
// transaction: that is skipped, and the transaction's end is not.
func TestFailedTransactionIsSkipped(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	at := func(n int) time.Duration { return time.Duration(n) * 10 * time.Millisecond }
	for n, sql := range []string{"begin", "insert bad", "insert 2", "insert 3", "commit", "select 1", "begin", "insert 4", "commit"} {
		s.query(at(n+1), time.Millisecond, sql)
	}
	s.end(at(20))
	f := &fake{fail: func(sql string) string {
		if sql == "insert bad" {
			return "23505"
		}
		return ""
	}}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 9, OK: 5, Error: 2, Skipped: 2})
	if sum.Errors["23505"] != 1 || sum.Errors["rolled_back"] != 1 || sum.Reasons[reasonTransaction] != 2 || sum.Diverged != 4 {
		t.Errorf("errors %v reasons %v diverged %d", sum.Errors, sum.Reasons, sum.Diverged)
	}
	want := []string{"begin", "insert bad", "commit", "select 1", "begin", "insert 4", "commit"}
	mustSQL(t, f, want)
}

func mustSQL(t testing.TB, f *fake, want []string) {
	t.Helper()
	got := f.sql(-1)
	if len(got) != len(want) {
		t.Fatalf("the server saw %q\nwant %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("the server saw %q\nwant %q", got, want)
		}
	}
}

// A transaction that failed when it was recorded is sent as it was.
func TestRecordedFailureIsSentAgain(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	ms := time.Millisecond
	q := func(at time.Duration, sql string, status trace.Status, reason string, state byte) {
		s.event(what{op: trace.OpQuery, bytes: query(sql), at: at, took: ms, status: status, reason: reason, state: state})
	}
	q(10*ms, "begin", trace.OK, "", 'T')
	q(20*ms, "insert bad", trace.Error, "23505", 'E')
	q(30*ms, "insert 2", trace.Error, "25P02", 'E')
	q(40*ms, "commit", trace.Error, "rolled_back", 'I')
	s.end(50 * ms)
	f := &fake{fail: func(sql string) string {
		if sql == "insert bad" {
			return "23505"
		}
		return ""
	}}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 4, OK: 1, Error: 3})
	mustSQL(t, f, []string{"begin", "insert bad", "insert 2", "commit"})
	if sum.Diverged != 0 {
		t.Errorf("diverged %d", sum.Diverged)
	}
}

// ROLLBACK TO brings the transaction back, and skipping to its end.
func TestRollbackToEndsSkipping(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	sql := []string{"begin", "savepoint a", "insert bad", "insert 2", "rollback to a", "insert 3", "commit"}
	for n, text := range sql {
		at := time.Duration(n+1) * 10 * time.Millisecond
		state := byte('T')
		if text == "commit" {
			state = 'I'
		}
		s.event(what{op: trace.OpQuery, bytes: query(text), at: at, took: time.Millisecond, rows: rowsOf(text), state: state})
	}
	s.end(time.Second)
	f := &fake{fail: func(sql string) string {
		if sql == "insert bad" {
			return "40P01"
		}
		return ""
	}}
	mustTally(t, play(t, tp, f), Tally{Captured: 7, OK: 5, Error: 1, Skipped: 1})
	mustSQL(t, f, []string{"begin", "savepoint a", "insert bad", "rollback to a", "insert 3", "commit"})
}

// The fault injection of the accounting: an event that the player forgets must
// not go unnoticed.
func TestForgottenEventBreaksTheAccounting(t *testing.T) {
	tp := newTape(t)
	for range 3 {
		s := tp.session(0, nil)
		for n := range 10 {
			s.query(time.Duration(10+n)*time.Millisecond, time.Millisecond, "select 1")
		}
		s.end(time.Second)
	}
	sum := play(t, tp, &fake{}, func(o *Options) {
		o.Fault = func(session, ordinal uint64) bool { return session == 1002 && ordinal == 5 }
	})
	if sum.Accounted || sum.Valid || len(sum.Why) == 0 {
		t.Errorf("a forgotten event went unnoticed: %+v", sum)
	}
	if sum.Statements.Captured != 30 || sum.Statements.Sum() != 29 {
		t.Errorf("%+v", sum.Statements)
	}
}
