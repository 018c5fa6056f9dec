package replay

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// at is a time well after the reply of the event before it.
func at(n int) time.Duration { return time.Duration(n+1) * 10 * ms }

func failing(code string, texts ...string) func(string) string {
	return func(sql string) string {
		for _, text := range texts {
			if sql == text {
				return code
			}
		}
		return ""
	}
}

func (s *taped) extended(n int, op trace.Op, b []byte, state byte) uint64 {
	s.t.Helper()
	return s.event(what{op: op, bytes: b, at: at(n), took: ms, state: state, rows: 1})
}

// A prepare that fell into a failed transaction is made up for when its
// statement is wanted; a session prepares only once.
func TestSkippedPrepareIsMadeUpFor(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.query(at(0), ms, "begin")
	s.query(at(1), ms, "insert bad")
	s.event(what{op: trace.OpPrepare, bytes: join(parse("p1", "select 1"), syncs()), at: at(2), took: ms, state: 'T'})
	s.extended(3, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'T')
	s.query(at(4), ms, "commit")
	s.extended(5, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'I')
	s.extended(6, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'I')
	s.end(at(9))
	f := &fake{fail: failing("40001", "insert bad")}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 6, OK: 3, Error: 2, Skipped: 1})
	mustSQL(t, f, []string{"begin", "insert bad", "commit", "select 1", "select 1"})
	if sum.PreparedAgain != 1 {
		t.Errorf("prepared again %d times", sum.PreparedAgain)
	}
}

// Executes of a statement that the target refuses to prepare are skipped, until
// it is prepared anew.
func TestExecutesOfRefusedPrepareAreSkipped(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	prepare := func(n int, sql string) {
		s.event(what{op: trace.OpPrepare, bytes: join(parse("p1", sql), syncs()), at: at(n), took: ms})
	}
	run := join(bind("p1"), execute(), syncs())
	prepare(0, "select missing")
	s.extended(1, trace.OpExecute, run, 'I')
	s.extended(2, trace.OpExecute, run, 'I')
	s.event(what{op: trace.OpClose, bytes: join(closes("p1"), syncs()), at: at(3), took: ms})
	prepare(4, "select 1")
	s.extended(5, trace.OpExecute, run, 'I')
	s.end(at(9))
	f := &fake{fail: failing("42P01", "parse select missing")}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 3, OK: 1, Skipped: 2})
	if sum.Reasons[reasonPrepare] != 2 || sum.EventErrors["42P01"] != 1 {
		t.Errorf("%v %v", sum.Reasons, sum.EventErrors)
	}
	mustSQL(t, f, []string{"select 1"})
}

// A statement that was refused when it was recorded is asked for again.
func TestRecordedPrepareFailureIsSentAgain(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.event(what{op: trace.OpPrepare, bytes: join(parse("p1", "select missing"), syncs()), at: at(0), took: ms, status: trace.Error, reason: "42P01"})
	s.event(what{op: trace.OpExecute, bytes: join(bind("p1"), execute(), syncs()), at: at(1), took: ms, status: trace.Error, reason: "26000"})
	s.end(at(2))
	sum := play(t, tp, &fake{fail: failing("42P01", "parse select missing")})
	mustTally(t, sum, Tally{Captured: 1, Error: 1})
	if sum.Errors["26000"] != 1 || sum.Diverged != 0 {
		t.Errorf("%v %d", sum.Errors, sum.Diverged)
	}
}

// pbes is Parse, Bind, Execute, and a Sync if it is the last of its request.
func pbes(sql string, last bool) []byte {
	b := join(parse("", sql), bind(""), execute())
	if last {
		b = append(b, syncs()...)
	}
	return b
}

// PG-02: an error in the middle of a pipeline. The server discards the rest up
// to the Sync, and so says the outcome.
func TestPipelineWithAnError(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	for n, sql := range []string{"insert 90", "select bad", "insert 91"} {
		s.event(what{op: trace.OpExecute, bytes: pbes(sql, n == 2), at: at(0), took: ms, rows: 1, open: n < 2})
	}
	s.query(at(3), ms, "select 1")
	s.end(at(4))
	f := &fake{fail: failing("22012", "select bad")}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 4, OK: 2, Error: 1, Skipped: 1})
	if sum.Reasons["aborted"] != 1 {
		t.Errorf("%v", sum.Reasons)
	}
	mustSQL(t, f, []string{"insert 90", "select bad", "select 1"})
}

// In a pipeline that falls into a failed transaction, what ends that is sent
// and what comes after it as well.
func TestPipelineThatEndsAFailedTransaction(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.query(at(0), ms, "begin")
	s.query(at(1), ms, "insert bad")
	for n, sql := range []string{"insert 1", "rollback", "select 2"} {
		s.event(what{op: trace.OpExecute, bytes: pbes(sql, n == 2), at: at(2), took: ms, rows: rowsOf(sql), open: n < 2})
	}
	s.query(at(3), ms, "select 3")
	s.end(at(4))
	f := &fake{fail: failing("40001", "insert bad")}
	mustTally(t, play(t, tp, f), Tally{Captured: 6, OK: 4, Error: 1, Skipped: 1})
	mustSQL(t, f, []string{"begin", "insert bad", "rollback", "select 2", "select 3"})
}

// When what is skipped holds the Sync of something that is sent, the Sync is
// sent by itself: else the reply would never come.
func TestSyncOfASkippedEvent(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.query(at(0), ms, "begin")
	s.query(at(1), ms, "insert bad")
	s.event(what{op: trace.OpClose, bytes: closes("x"), at: at(2), took: ms, open: true, state: 'T'})
	s.event(what{op: trace.OpExecute, bytes: pbes("insert 1", true), at: at(2), took: ms, rows: 1, state: 'T'})
	s.query(at(3), ms, "rollback")
	s.end(at(4))
	f := &fake{fail: failing("40001", "insert bad")}
	mustTally(t, play(t, tp, f), Tally{Captured: 4, OK: 2, Error: 1, Skipped: 1})
	mustSQL(t, f, []string{"begin", "insert bad", "rollback"})
}

// PG-22: what was sent with a Flush is answered without a Sync.
func TestFlushWithoutSync(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.event(what{op: trace.OpExecute, bytes: join(parse("", "select 1"), bind(""), execute(), flushes()), at: at(0), took: ms, rows: 1})
	s.event(what{op: trace.OpSync, bytes: syncs(), at: at(500), took: ms})
	s.end(at(600))
	f := &fake{}
	mustTally(t, play(t, tp, f), Tally{Captured: 1, OK: 1})
}

// What cannot be sent is skipped with its reason, and nothing else is.
func TestEventsThatCannotBeSent(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.event(what{op: trace.OpQuery, bytes: query("alter user a password 'secret'"), at: at(0), took: ms, redact: true})
	s.event(what{op: trace.OpQuery, at: at(1), took: ms, over: true})
	s.event(what{op: trace.OpFunction, bytes: message('F', "\x00\x00\x00\x01"), at: at(2), took: ms})
	s.event(what{op: trace.OpOther, bytes: message('?'), at: at(3), took: ms})
	s.query(at(4), ms, "select 1")
	s.end(at(5))
	r := tp.session(0, map[string]string{"replication": "database"})
	r.query(at(1), ms, "IDENTIFY_SYSTEM")
	r.end(at(2))
	f := &fake{}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 4, OK: 1, Skipped: 3})
	mustSQL(t, f, []string{"select 1"})
	want := map[string]uint64{"redacted": 1, "over_limit": 1, "not_replayable": 5}
	for reason, n := range want {
		if sum.EventReasons[reason] != n {
			t.Errorf("%s: %d, want %d (%v)", reason, sum.EventReasons[reason], n, sum.EventReasons)
		}
	}
	if sum.Diverged != 0 || f.conns != 1 {
		t.Errorf("diverged %d, %d connections", sum.Diverged, f.conns)
	}
	// A dry run foretells it.
	seen, err := Look(t.Context(), trace.NewReader(bytes.NewReader(tp.buf.Bytes()), "tape"), Options{Speed: 2, Loops: 3})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(seen.Events.NotSent, sum.EventReasons) || seen.Events.Captured != sum.Events.Captured || seen.Statements.Sent != 1 || seen.Sessions != sum.Sessions {
		t.Errorf("foretold %+v %+v, came %v", seen.Events, seen.Statements, sum.EventReasons)
	}
	if seen.SpanS != 0.06 || *seen.TakesS != 0.09 || seen.PeakSessions != 2 {
		t.Errorf("over %g s, takes %g s, %d sessions at once", seen.SpanS, *seen.TakesS, seen.PeakSessions)
	}
}

func (s *taped) copyIn(n int, extended bool, data ...string) {
	s.t.Helper()
	if extended {
		s.event(what{op: trace.OpExecute, bytes: pbes("copy t from stdin", true), at: at(n), took: 50 * ms, rows: 1})
	} else {
		s.event(what{op: trace.OpQuery, bytes: query("copy t from stdin"), at: at(n), took: 50 * ms, rows: 1})
	}
	for i, d := range data {
		b := copyData(d)
		if i == len(data)-1 {
			if b = join(b, copyDone()); extended {
				b = join(b, syncs())
			}
		}
		took := time.Duration(0)
		if extended && i == len(data)-1 {
			took = ms
		}
		s.event(what{op: trace.OpCopy, bytes: b, at: at(n) + time.Duration(i+1)*ms, took: took})
	}
}

func TestCopyIn(t *testing.T) {
	for _, extended := range []bool{false, true} {
		tp := newTape(t)
		s := tp.session(0, nil)
		s.copyIn(0, extended, "1\n", "2\n", strings.Repeat("x", 70000))
		s.query(at(10), ms, "select 1")
		s.end(at(11))
		f := &fake{}
		sum := play(t, tp, f)
		mustTally(t, sum, Tally{Captured: 2, OK: 2})
		mustSQL(t, f, []string{"copy t from stdin", "select 1"})
		if sum.Events.OK != 7 || sum.Diverged != 0 {
			t.Errorf("extended %v: %+v %v", extended, sum.Events, sum.EventReasons)
		}
	}
}

// The target refuses the COPY: its data are not sent, and the session goes on.
func TestRefusedCopy(t *testing.T) {
	for _, extended := range []bool{false, true} {
		tp := newTape(t)
		s := tp.session(0, nil)
		s.copyIn(0, extended, "1\n", "2\n")
		s.query(at(10), ms, "select 1")
		s.end(at(11))
		f := &fake{fail: failing("42P01", "copy t from stdin")}
		sum := play(t, tp, f)
		mustTally(t, sum, Tally{Captured: 2, OK: 1, Error: 1})
		if sum.EventReasons[reasonCopy] != 2 {
			t.Errorf("extended %v: %v", extended, sum.EventReasons)
		}
	}
}

// The recorded server refused the COPY and the target does not: the session
// must not hang in it.
func TestCopyWithoutData(t *testing.T) {
	for _, extended := range []bool{false, true} {
		tp := newTape(t)
		s := tp.session(0, nil)
		op, b := trace.OpQuery, query("copy t from stdin")
		if extended {
			op, b = trace.OpExecute, pbes("copy t from stdin", true)
		}
		s.event(what{op: op, bytes: b, at: at(0), took: ms, status: trace.Error, reason: "42P01"})
		s.query(at(10), ms, "select 1")
		s.end(at(11))
		sum := play(t, tp, &fake{})
		mustTally(t, sum, Tally{Captured: 2, OK: 1, Error: 1})
		if sum.Errors["57014"] != 1 {
			t.Errorf("extended %v: %v", extended, sum.Errors)
		}
	}
}
