package replay

import (
	"testing"

	"github.com/retrace-db/retrace/trace"
)

func fromMiddle(tp *tape, state trace.State) *taped {
	state.Session, state.Ordinal, state.Start, state.Database = 7, 40, tapeStart, "shop"
	tp.check(tp.w.State(&state))
	return &taped{tape: tp, id: 7, next: 40}
}

// RP-07: of a transaction that began before the trace nothing is sent, and its
// COMMIT above all; what it prepares and sets is there afterwards.
func TestTransactionWithoutABeginning(t *testing.T) {
	for _, late := range []bool{false, true} {
		tp := newTape(t)
		s := fromMiddle(tp, trace.State{Transaction: "open", Sets: [][]byte{[]byte("set a = 1")}, Uncommitted: [][]byte{[]byte("set b = 2")}})
		s.event(what{op: trace.OpPrepare, bytes: join(parse("p1", "select 1"), syncs()), at: at(0), took: ms, state: 'T'})
		s.query(at(1), ms, "insert 1")
		s.event(what{op: trace.OpQuery, bytes: query("set c = 3"), at: at(2), took: ms, state: 'T'})
		end := s.event(what{op: trace.OpQuery, bytes: query("commit"), at: at(3), took: ms, late: late})
		if late {
			tp.check(tp.w.Flush())
			reply := what{took: ms}.reply()
			tp.check(tp.w.Reply(s.id, end, &reply, 0))
		}
		s.extended(4, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'I')
		s.query(at(5), ms, "begin")
		s.query(at(6), ms, "insert 2")
		s.query(at(7), ms, "commit")
		s.end(at(9))
		f := &fake{}
		sum := play(t, tp, f)
		mustTally(t, sum, Tally{Captured: 7, OK: 4, Skipped: 3})
		mustSQL(t, f, []string{"set a = 1", "set b = 2", "set c = 3", "select 1", "begin", "insert 2", "commit"})
		if sum.Reasons["partial_transaction"] != 3 || sum.Diverged != 0 || sum.PreparedAgain != 1 {
			t.Errorf("%v, %d diverged, %d prepared again", sum.Reasons, sum.Diverged, sum.PreparedAgain)
		}
	}
}

// What a transaction set that was rolled back is not in force.
func TestRolledBackSettingsAreNotRestored(t *testing.T) {
	tp := newTape(t)
	s := fromMiddle(tp, trace.State{Transaction: "failed", Uncommitted: [][]byte{[]byte("set b = 2")}})
	s.query(at(0), ms, "rollback")
	s.query(at(1), ms, "select 1")
	s.end(at(9))
	f := &fake{}
	mustTally(t, play(t, tp, f), Tally{Captured: 2, OK: 1, Skipped: 1})
	mustSQL(t, f, []string{"select 1"})
}

// RP-07: statements of which nothing is known are not executed, those that the
// trace prepares are.
func TestUnknownStatements(t *testing.T) {
	tp := newTape(t)
	s := &taped{tape: tp, id: 7, next: 40} // no state
	s.query(at(0), ms, "commit")
	s.extended(1, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'I')
	s.event(what{op: trace.OpPrepare, bytes: join(parse("p2", "select 2"), syncs()), at: at(2), took: ms})
	s.extended(3, trace.OpExecute, join(bind("p2"), execute(), syncs()), 'I')
	s.event(what{op: trace.OpExecute, bytes: join(bind("p3"), execute(), syncs()), at: at(4), took: ms, status: trace.Error, reason: "26000"})
	s.end(at(9))
	f := &fake{}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 4, OK: 1, Error: 1, Skipped: 2})
	mustSQL(t, f, []string{"select 2"})
	if sum.Reasons["partial_transaction"] != 1 || sum.Reasons["unknown_statement"] != 1 || sum.Errors["26000"] != 1 {
		t.Errorf("%v %v", sum.Reasons, sum.Errors)
	}
}

// A statement that the target refuses to prepare again is refused to all.
func TestRestoredStatementIsRefused(t *testing.T) {
	tp := newTape(t)
	s := fromMiddle(tp, trace.State{Transaction: "idle", Statements: []trace.Prepared{
		{Name: []byte("p1"), Message: parse("p1", "select missing")}, {Name: []byte("p2"), Message: parse("p2", "select 2")},
	}})
	s.extended(1, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'I')
	s.extended(2, trace.OpExecute, join(bind("p2"), execute(), syncs()), 'I')
	s.end(at(9))
	f := &fake{fail: failing("42P01", "parse select missing")}
	sum := play(t, tp, f)
	mustTally(t, sum, Tally{Captured: 2, OK: 1, Skipped: 1})
	if sum.Reasons[reasonPrepare] != 1 {
		t.Errorf("%v", sum.Reasons)
	}
}

// A recording was switched off for a while: when it goes on, the session is
// brought to the state that it has then, and out of the transaction that it was in.
func TestRecordingGoesOn(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.event(what{op: trace.OpPrepare, bytes: join(parse("p1", "select 1"), syncs()), at: at(0), took: ms})
	s.query(at(1), ms, "begin")
	tp.check(tp.w.Flush())
	tp.check(tp.w.State(&trace.State{
		Session: s.id, Ordinal: 20, Start: tapeStart, Database: "shop", Transaction: "idle", Sets: [][]byte{[]byte("set a = 1")},
		Statements: []trace.Prepared{{Name: []byte("p1"), Message: parse("p1", "select 2")}, {Name: []byte("p2"), Message: parse("p2", "select 3")}},
	}))
	s.next = 20
	s.extended(6, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'I')
	s.extended(7, trace.OpExecute, join(bind("p2"), execute(), syncs()), 'I')
	s.end(at(9))
	f := &fake{}
	mustTally(t, play(t, tp, f), Tally{Captured: 3, OK: 3})
	mustSQL(t, f, []string{"begin", "ROLLBACK", "set a = 1", "select 2", "select 3"})
}

// A Parse that had no reply when the recording was cut is made up for when its
// statement is used.
func TestPendingPrepareIsMadeUpFor(t *testing.T) {
	tp := newTape(t)
	s := fromMiddle(tp, trace.State{Transaction: "idle", Pending: []trace.Pending{
		{Ordinal: 38, Message: join(parse("p1", "select 1"), syncs())}, {Ordinal: 39, Message: join(parse("p2", "select 2"), bind("p2"), execute(), syncs())},
	}})
	s.extended(1, trace.OpExecute, join(bind("p1"), execute(), syncs()), 'I')
	s.event(what{op: trace.OpPrepare, bytes: join(parse("p2", "select 3"), syncs()), at: at(2), took: ms})
	s.extended(3, trace.OpExecute, join(bind("p2"), execute(), syncs()), 'I')
	s.end(at(9))
	f := &fake{}
	mustTally(t, play(t, tp, f), Tally{Captured: 2, OK: 2})
	mustSQL(t, f, []string{"select 1", "select 3"})
}
