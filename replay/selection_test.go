package replay

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

func parsed(t testing.TB, text string) *filter.Filter {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func only(t testing.TB, text string) func(*Options) {
	f := parsed(t, text)
	return func(o *Options) { o.Only = f }
}

func skip(t testing.TB, text string) func(*Options) {
	f := parsed(t, text)
	return func(o *Options) { o.Skip = f }
}

func readOnly(o *Options) { o.ReadOnly = true }

// RP-16: what is left out is counted by its reason, and transactions stay whole.
func TestFilters(t *testing.T) {
	all := []string{"begin", "insert into t", "select a from t", "commit", "set x = 1", "select a from u", "drop database x", "savepoint s"}
	for name, c := range map[string]struct {
		how  func(*Options)
		want []string
		why  map[string]uint64
	}{
		"only":      {only(t, "table:u"), []string{"begin", "commit", "set x = 1", "select a from u", "savepoint s"}, map[string]uint64{"only": 2, "dangerous": 1}},
		"skip":      {skip(t, "table:u"), []string{"begin", "insert into t", "select a from t", "commit", "set x = 1", "savepoint s"}, map[string]uint64{"skip": 1, "dangerous": 1}},
		"read-only": {readOnly, []string{"begin", "select a from t", "commit", "set x = 1", "select a from u", "savepoint s"}, map[string]uint64{"read_only": 1, "dangerous": 1}},
		"dangerous": {func(o *Options) { o.AllowDangerous = true }, all, map[string]uint64{}},
	} {
		t.Run(name, func(t *testing.T) {
			tp := newTape(t)
			s := tp.session(0, nil)
			for n, sql := range all {
				s.query(at(n), ms, sql)
			}
			s.end(at(20))
			f := &fake{}
			sum := play(t, tp, f, c.how)
			left := uint64(len(all) - len(c.want))
			mustTally(t, sum, Tally{Captured: uint64(len(all)), OK: uint64(len(c.want)), Filtered: left})
			mustSQL(t, f, c.want)
			if len(sum.Reasons) != len(c.why) || sum.Diverged != 0 || sum.Compared != uint64(len(c.want)) {
				t.Errorf("%v, want %v; %d of %d diverged", sum.Reasons, c.why, sum.Diverged, sum.Compared)
			}
			for why, n := range c.why {
				if sum.Reasons[why] != n {
					t.Errorf("%v, want %v", sum.Reasons, c.why)
				}
			}
			if sum.Dangerous["DROP DATABASE"] != 1 || len(sum.Warnings) == 0 {
				t.Errorf("%v %q", sum.Dangerous, sum.Warnings)
			}
		})
	}
}

// A session in which nothing can match is not even connected, and its database
// need not exist.
func TestFilteredSessionsDoNotConnect(t *testing.T) {
	for name, how := range map[string]func(*Options){"only": only(t, "app:good op:select"), "skip": skip(t, "app:bad")} {
		t.Run(name, func(t *testing.T) {
			tp := newTape(t)
			for _, app := range []string{"good", "bad"} {
				s := tp.session(0, map[string]string{"application_name": app})
				s.query(at(0), ms, "begin")
				s.query(at(1), ms, "select "+app)
				s.query(at(2), ms, "commit")
				s.end(at(3))
			}
			f := &fake{}
			sum := play(t, tp, f, how)
			mustTally(t, sum, Tally{Captured: 6, OK: 3, Filtered: 3})
			mustSQL(t, f, []string{"begin", "select good", "commit"})
			if f.conns != 1 || sum.Events != (Tally{Captured: 10, OK: 5, Filtered: 5}) {
				t.Errorf("%d connections, %+v", f.conns, sum.Events)
			}
		})
	}
}

// What is left out at the end of a request takes its Sync with it, and what is
// sent before it must be answered all the same; a Parse that a later statement
// needs is made up for.
func TestFilteredEventsOfPipelines(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	x := func(n int, last bool, name, sql string) {
		b := join(bind(name), execute())
		if sql != "" {
			b = join(parse(name, sql), b)
		}
		if last {
			b = append(b, syncs()...)
		}
		rows := uint64(1)
		s.event(what{op: trace.OpExecute, bytes: b, at: at(n), took: ms, rows: rows, open: !last})
	}
	x(0, false, "", "select 1")
	x(0, true, "", "insert 1")
	x(1, false, "p", "insert 2")
	x(1, true, "", "select 2")
	s.event(what{op: trace.OpPrepare, bytes: join(parse("q", "insert 3"), syncs()), at: at(2), took: ms})
	s.query(at(3), ms, "select 3")
	s.end(at(5))
	f := &fake{}
	sum := play(t, tp, f, readOnly)
	mustTally(t, sum, Tally{Captured: 5, OK: 3, Filtered: 2})
	mustSQL(t, f, []string{"select 1", "select 2", "select 3"})
	if sum.Events.OK != 3+1+2 { // the prepare, too
		t.Errorf("%+v", sum.Events)
	}
}

// A statement is prepared by an execution that is left out, and executed by one
// that is not.
func TestFilteredParseIsMadeUpFor(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.event(what{op: trace.OpExecute, bytes: join(parse("p", "select 1"), bind("p"), execute(), syncs()), at: at(0), took: ms, rows: 1})
	s.extended(1, trace.OpExecute, join(bind("p"), execute(), syncs()), 'I')
	s.end(at(5))
	f := &fake{}
	// The second is not known to be a select here, since the tape does not say what
	// it resolves to.
	sum := play(t, tp, f, skip(t, "op:select"))
	mustTally(t, sum, Tally{Captured: 2, OK: 1, Filtered: 1})
	mustSQL(t, f, []string{"select 1"})
	if sum.PreparedAgain != 1 {
		t.Errorf("prepared again %d times", sum.PreparedAgain)
	}
}

// COPY data and fetches go with their statement.
func TestFilteredCopyAndFetch(t *testing.T) {
	tp := newTape(t)
	s := tp.session(0, nil)
	s.event(what{op: trace.OpQuery, bytes: query("copy t from stdin"), at: at(0), took: 5 * ms})
	s.event(what{op: trace.OpCopy, bytes: copyData("1\n"), at: at(0) + ms})
	s.event(what{op: trace.OpCopy, bytes: copyDone(), at: at(0) + 2*ms})
	s.event(what{op: trace.OpExecute, bytes: join(parse("", "select 1 for update"), bind(""), execute(), flushes()), at: at(2), took: ms, rows: 1})
	s.event(what{op: trace.OpFetch, bytes: join(execute(), syncs()), at: at(3), took: ms, rows: 1})
	s.query(at(4), ms, "select 2")
	s.end(at(5))
	f := &fake{}
	sum := play(t, tp, f, readOnly)
	mustTally(t, sum, Tally{Captured: 3, OK: 1, Filtered: 2})
	mustSQL(t, f, []string{"select 2"})
	if sum.Events.Filtered != 5 || sum.EventReasons["read_only"] != 5 {
		t.Errorf("%+v %v", sum.Events, sum.EventReasons)
	}
}

func TestFiltersByReplyAreRefused(t *testing.T) {
	for _, text := range []string{"took>1ms", "status:error", "op:select -error:40001"} {
		o := Options{Only: parsed(t, text)}
		if o.Validate() == nil {
			t.Errorf("%s: not refused", text)
		}
		o = Options{Skip: parsed(t, text)}
		if o.Validate() == nil {
			t.Errorf("%s: not refused", text)
		}
	}
}

// A rate counts what is sent.
func TestRateWithoutFiltered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		s := tp.session(0, nil)
		for n := range 20 {
			sql := "select 1"
			if n%2 == 0 {
				sql = "insert 1"
			}
			s.query(at(n), ms, sql)
		}
		s.end(at(30))
		f := &fake{}
		mustTally(t, play(t, tp, f, readOnly, func(o *Options) { o.Pace, o.Rate = PaceRate, 100 }), Tally{Captured: 20, OK: 10, Filtered: 10})
		if d := f.got[9].at.Sub(f.got[0].at); d != 90*ms {
			t.Errorf("ten statements at 100/s within %s", d)
		}
	})
}

// A filter means sessions by their numbers in the trace, in every loop.
func TestSessionFilterInLoops(t *testing.T) {
	for _, text := range []string{"session:1001", "session:1001 op:select"} {
		tp := newTape(t)
		for range 2 {
			s := tp.session(0, nil)
			s.query(at(0), ms, "select 1")
			s.end(at(1))
		}
		tp.check(tp.w.Close())
		f := &fake{}
		again := func(trace.ReadOptions) (*trace.Reader, error) {
			return trace.NewReader(bytes.NewReader(tp.buf.Bytes()), "tape"), nil
		}
		in, _ := again(trace.ReadOptions{})
		o := Options{connect: f, Clock: clock.NewTimers(), Pace: PaceClosed, Loops: 3, Again: again, Only: parsed(t, text)}
		sum, err := Run(t.Context(), in, o)
		if err != nil {
			t.Fatal(err)
		}
		mustTally(t, sum, Tally{Captured: 6, OK: 3, Filtered: 3})
	}
}
