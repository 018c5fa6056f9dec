package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/trace"
)

func commitOrder(o *Options) { o.Order = OrderCommit }

// A transaction starts after those that had committed before it started, whatever
// the pace and however long the statements take now.
func TestCommitOrderIsKept(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := drawHistory(r)
		block := rapid.IntRange(200, 4000).Draw(r, "block")
		o := Options{Pace: rapid.SampledFrom([]string{PaceOriginal, PaceThink, PaceClosed, PaceRate}).Draw(r, "pace")}
		switch o.Pace {
		case PaceOriginal, PaceThink:
			o.Speed = 100
		case PaceRate:
			o.Rate = 5000
		}
		slow := rapid.IntRange(0, 1000).Draw(r, "slow")
		var s *Summary
		f := &fake{work: func(sql string) time.Duration {
			hash := slow
			for _, c := range sql {
				hash = hash*31 + int(c)
			}
			return time.Duration(hash%17&15) * ms
		}}
		synctest.Test(t, func(t *testing.T) {
			tp := newTape(t, func(_ *trace.Header, o *trace.WriterOptions) { o.BlockBytes = block })
			h.write(tp)
			s = play(t, tp, f, commitOrder, func(to *Options) { to.Pace, to.Speed, to.Rate = o.Pace, o.Speed, o.Rate })
		})
		if !s.Accounted || s.OrderReleased != 0 || s.Statements.OK != s.Statements.Captured {
			r.Errorf("%+v", s)
		}
		for _, wrong := range h.disorder(f) {
			r.Error(wrong)
		}
	})
}

// history is what clients did in the model: transactions of several sessions.
type history struct {
	sessions []time.Duration // when they connected
	all      []modelled
}

type modelled struct {
	session    int
	name       string
	sql        []string
	begin      time.Duration
	took       time.Duration // by each statement
	committed  bool          // having written something
	begin2     time.Duration // when it was sent what sees data first
	stateAfter []byte
}

func (m *modelled) end() time.Duration { return m.begin + time.Duration(len(m.sql))*m.took }

func drawHistory(r *rapid.T) *history {
	h := &history{}
	var free []time.Duration
	for range rapid.IntRange(1, 5).Draw(r, "sessions") {
		at := time.Duration(rapid.IntRange(0, 50).Draw(r, "at")) * ms
		h.sessions, free = append(h.sessions, at), append(free, at+2*ms)
	}
	for n := range rapid.IntRange(0, 60).Draw(r, "transactions") {
		m := modelled{session: rapid.IntRange(0, len(free)-1).Draw(r, "session"), name: fmt.Sprintf("/* t%d */", n)}
		m.begin = free[m.session] + time.Duration(rapid.IntRange(0, 20).Draw(r, "think"))*ms
		m.took = time.Duration(rapid.IntRange(1, 15).Draw(r, "took")) * ms
		switch rapid.IntRange(0, 3).Draw(r, "kind") {
		case 0:
			m.sql, m.stateAfter, m.committed = []string{"update a "}, []byte("I"), true
		case 1:
			m.sql, m.stateAfter, m.committed = []string{"begin ", "insert a ", "commit "}, []byte("TTI"), true
		case 2:
			m.sql, m.stateAfter = []string{"begin ", "insert a ", "rollback "}, []byte("TTI")
		case 3:
			m.sql, m.stateAfter = []string{"select 1 "}, []byte("I")
		}
		m.begin2 = m.begin
		if len(m.sql) > 1 {
			m.begin2 += m.took
		}
		free[m.session] = m.end()
		h.all = append(h.all, m)
	}
	return h
}

// write records the history as it happened.
func (h *history) write(tp *tape) {
	type step struct {
		at time.Duration
		do func()
	}
	var steps []step
	sessions := make([]*taped, len(h.sessions))
	last := slices.Clone(h.sessions)
	for i, at := range h.sessions {
		steps = append(steps, step{at, func() { sessions[i] = tp.session(at, nil) }})
	}
	for _, m := range h.all {
		for i, sql := range m.sql {
			at := m.begin + time.Duration(i)*m.took
			rows, state := rowsOf(sql), m.stateAfter[i]
			var ordinal uint64
			steps = append(steps, step{at, func() {
				ordinal = sessions[m.session].event(what{op: trace.OpQuery, bytes: query(sql + m.name), at: at, late: true})
			}}, step{at + m.took, func() {
				tp.check(tp.w.Reply(sessions[m.session].id, ordinal, &trace.Reply{Took: int64(m.took), Rows: rows, State: state}, 0))
			}})
		}
		last[m.session] = m.end()
	}
	for i, at := range last {
		steps = append(steps, step{at + 3*ms, func() { sessions[i].end(at + 3*ms) }})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for _, s := range steps {
		s.do()
	}
}

// disorder lists the transactions that the server saw before the end of one that
// they had to wait for.
func (h *history) disorder(f *fake) (wrong []string) {
	begun, entered, over := map[string]int{}, map[string]int{}, map[string]int{}
	for i, s := range f.got {
		name := s.sql[strings.Index(s.sql, "/*"):]
		if _, seen := begun[name]; !seen {
			begun[name] = i
		}
		if _, seen := entered[name]; !seen && !strings.HasPrefix(s.sql, "begin") {
			entered[name] = i
		}
		over[name] = i
	}
	for _, a := range h.all {
		for _, b := range h.all {
			if !a.committed || a.session == b.session {
				continue
			}
			if a.end() <= b.begin && over[a.name] > begun[b.name] || a.end() <= b.begin2 && over[a.name] > entered[b.name] {
				wrong = append(wrong, fmt.Sprintf("%s, which began at %s, came before the end of %s, which had committed at %s", b.name, b.begin, a.name, a.end()))
			}
		}
	}
	return wrong
}

// A wait over the limit is let go and counted. It is neither our own lateness
// nor hidden from the lag, and nobody waits for the same transaction again.
func TestCommitOrderLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		a, b := tp.session(0, nil), tp.session(0, nil)
		a.query(10*ms, ms, "update slow")
		b.query(20*ms, ms, "update 1")
		b.query(30*ms, ms, "update 2")
		b.query(20*time.Second, ms, "update 3")
		a.end(21 * time.Second)
		b.end(21 * time.Second)
		f := &fake{work: func(sql string) time.Duration {
			if sql == "update slow" {
				return 10 * time.Second
			}
			return 0
		}}
		s := play(t, tp, f, original, commitOrder, func(o *Options) { o.OrderWait = 2 * time.Second })
		mustTally(t, s, Tally{Captured: 4, OK: 4})
		mustSQL(t, f, []string{"update slow", "update 1", "update 2", "update 3"})
		// The second of b was let go at once, but out of order as well.
		if s.OrderReleased != 2 || s.OrderWaited != 2 || s.OrderWaitUS.Max < 2e6 || s.OrderWaitUS.Max > 2.1e6 {
			t.Errorf("released %d, waited %d: %+v", s.OrderReleased, s.OrderWaited, s.OrderWaitUS)
		}
		if s.BusyUS.Max < 1.9e6 || s.LagUS.Max < 1.9e6 || s.ScheduleErrorUS.Max > 1e5 || len(s.Warnings) == 0 {
			t.Errorf("busy %+v, lag %+v, late %+v, %q", s.BusyUS, s.LagUS, s.ScheduleErrorUS, s.Warnings)
		}
	})
}

// A transaction that can never be over holds up nobody: not one of a session
// that is lost, nor one that is skipped, nor one whose session has no connection.
func TestCommitOrderWithLostSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		a, b, c := tp.session(0, nil), tp.session(0, nil), tp.session(0, nil)
		a.query(10*ms, ms, "update drop")
		a.query(20*ms, ms, "update never")
		b.query(20*ms, ms, "update b")
		c.query(30*ms, ms, "begin")
		c.query(35*ms, ms, "insert bad")
		c.query(40*ms, ms, "insert skipped")
		c.query(45*ms, ms, "commit")
		b.query(60*ms, ms, "update c")
		for _, s := range []*taped{a, b, c} {
			s.end(time.Second)
		}
		f := &fake{
			drop: func(sql string) bool { return sql == "update drop" }, fail: failing("40001", "insert bad"),
			work: func(string) time.Duration { return 5 * ms },
		}
		s := play(t, tp, f, commitOrder)
		mustTally(t, s, Tally{Captured: 8, OK: 3, Error: 2, Skipped: 1, Lost: 1, Unsent: 1})
		if s.OrderReleased != 0 || s.ElapsedS > 1 {
			t.Errorf("released %d, in %g s", s.OrderReleased, s.ElapsedS)
		}
	})
}
