package replay

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/trace"
)

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		speed      float64
		start, due int64
	}{
		{1, 1000, 5000},
		{1, 1500, 5500},
		{2, 1500, 5250},
		{0.5, 1500, 6000},
		{1, 900, 4900},
		{1e-300, 2000, math.MaxInt64},
		{1e-300, 0, math.MinInt64 + 5000},
		{1e9, math.MaxInt64, 5000 + 9223372036},
		{1, math.MaxInt64, math.MaxInt64},
	} {
		s := schedule{origin: 1000, base: 5000, speed: c.speed}
		if got := s.due(c.start); got != c.due {
			t.Errorf("speed %g: due(%d) is %d, want %d", c.speed, c.start, got, c.due)
		}
	}
	// No drift: at any speed, an hour in the trace is right to the microsecond.
	s := schedule{origin: tapeStart, base: tapeStart + 12345, speed: 3}
	if got, want := s.due(tapeStart+int64(time.Hour)), tapeStart+12345+int64(20*time.Minute); got != want {
		t.Errorf("due %d, want %d", got, want)
	}
	if got := s.recorded(s.due(tapeStart + int64(time.Hour))); math.Abs(float64(got-tapeStart-int64(time.Hour))) > 1000 {
		t.Errorf("recorded is %d off", got-tapeStart-int64(time.Hour))
	}
}

// What a client had when it sent a request, found the slow way.
func TestWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w waits
		type event struct{ start, end int64 }
		var all []event
		now := int64(0)
		last := int64(0)
		for n := range rapid.IntRange(1, 50).Draw(t, "events") {
			now += rapid.Int64Range(0, 10).Draw(t, "gap")
			want := uint64(0)
			for i, e := range all {
				if e.end > now {
					break
				}
				want = uint64(i) + 1
			}
			if got := w.before(now); got != want {
				t.Fatalf("event %d at %d: %d had been answered, want %d (%v)", n, now, got, want, all)
			}
			last = max(last, now) + rapid.Int64Range(0, 15).Draw(t, "took") // replies come in order
			late := rapid.Bool().Draw(t, "late")
			w.add(awaited{ordinal: uint64(n), start: now, end: last, known: !late})
			if late {
				w.answered(uint64(n), last-now)
			}
			all = append(all, event{now, last})
		}
	})
}

func TestWaitsAreBounded(t *testing.T) {
	var w waits
	for n := range uint64(3 * maxWaits) {
		w.before(int64(n))
		w.add(awaited{ordinal: n, start: int64(n)})
	}
	if len(w.sent) > 2*maxWaits {
		t.Errorf("%d events are remembered", len(w.sent))
	}
}

func TestEndsTransaction(t *testing.T) {
	for sql, want := range map[string]bool{
		"COMMIT": true, " rollback to a": true, "\n;end;": true, "Abort": true, "prepare transaction 'x'": true,
		"prepare p as select 1": false, "select 'commit'": false, "": false, "commits": false, "endless": false, "begin": false, "savepoint a": false,
	} {
		if got := endsTransaction(sql); got != want {
			t.Errorf("%q: %v, want %v", sql, got, want)
		}
	}
}

func TestMajor(t *testing.T) {
	for version, want := range map[string]string{
		"15.20 (Debian 15.20-0+deb12u1)": "15", "18.4": "18", "9.6.24": "9.6", "17beta1": "17", "": "", "PostgreSQL 15.1": "15",
	} {
		if got := major(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}

func TestCheckSpeed(t *testing.T) {
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if CheckSpeed(bad) == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	for _, good := range []float64{1e-9, 0.5, 1, 2, 1e9} {
		if err := CheckSpeed(good); err != nil {
			t.Error(err)
		}
	}
	o := Options{Pace: PaceClosed, Speed: 2}
	if o.Validate() == nil {
		t.Error("closed and a speed")
	}
	o = Options{Speed: 2}
	if _, err := o.paceOf(&trace.Header{Timing: trace.TimingClosedLoop}); err == nil {
		t.Error("a speed for a trace without a schedule")
	}
}

// judge finds whose fault lateness was.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name             string
		late, busy, work time.Duration
		valid, kept      bool
	}{
		{"punctual", 100 * time.Microsecond, 0, ms, true, true},
		{"we were late", 2 * ms, 0, ms, false, true},
		{"late for short statements only", 2 * ms, 0, 100 * ms, true, true},
		{"the target was busy", 0, 50 * ms, ms, true, false},
		{"busy with long statements", 0, 50 * ms, 100 * ms, true, true},
	} {
		m := newMeasures()
		for range 1000 {
			m.late.record(int64(c.late))
			m.busy.record(int64(c.busy))
			m.service.record(int64(c.work))
		}
		s := &Summary{Valid: true}
		s.judge(&m)
		s.judgeTarget(&m)
		if s.Valid != c.valid || *s.KeptUp != c.kept || (len(s.Why) > 0) != (!c.valid || !c.kept) {
			t.Errorf("%s: valid %v, kept up %v, %v", c.name, s.Valid, *s.KeptUp, s.Why)
		}
	}
}

func TestHistogramClamps(t *testing.T) {
	h := newHistogram()
	for _, v := range []int64{-5, 0, 1, 1000, math.MaxInt64} {
		h.record(v)
	}
	if h.count() != 5 || h.max != math.MaxInt64 || h.quantile(100) <= 0 {
		t.Errorf("%d values up to %d", h.count(), h.max)
	}
	if newHistogram().spread() != nil {
		t.Error("no data became figures")
	}
}

// A dictionary that turns over for ever is forgotten as sessions move on.
func TestEntriesForget(t *testing.T) {
	n := newEntries()
	var refs []entryRef
	var all []*trace.Entry
	for range 2*maxEpoch + 10 {
		e := &trace.Entry{}
		ref, _ := n.ref(e)
		if again, begun := n.ref(e); again != ref || begun {
			t.Fatal("an entry has two numbers")
		}
		refs, all = append(refs, ref), append(all, e)
	}
	for i, ref := range refs {
		if n.entry(ref) != all[i] {
			t.Fatalf("entry %d is another", i)
		}
	}
	n.forget(2)
	if len(n.epochs) != 1 || n.entry(refs[len(refs)-1]) != all[len(all)-1] {
		t.Errorf("%d epochs are left", len(n.epochs))
	}
}

// A trace whose dictionary turns over while a slow session is far behind: the
// entries it will ask for are kept, the others are not.
func TestDictionaryThatTurnsOver(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a few hundred thousand statements")
	}
	tp := newTape(t)
	slow, fast := tp.session(0, nil), tp.session(0, nil)
	for n := range 3 * maxEpoch {
		at := time.Duration(n+1) * ms
		fast.query(at, ms/2, "select a"+strconv.Itoa(n))
		if n%1000 == 0 {
			slow.query(at, ms/2, "select slow"+strconv.Itoa(n))
		}
	}
	slow.end(time.Hour)
	fast.end(time.Hour)
	var p *player
	f := &fake{forget: true, work: func(sql string) time.Duration {
		if strings.HasPrefix(sql, "select slow") {
			return 5 * ms
		}
		return 0
	}}
	sum := play(t, tp, f, func(o *Options) { o.Started = func(g *Progress) { p = g.p } })
	if !sum.Accounted || sum.Statements.OK != sum.Statements.Captured {
		t.Errorf("%+v", sum.Statements)
	}
	if n := len(p.source.entries.epochs); n > 4 {
		t.Errorf("%d epochs are kept", n)
	}
}

// Nothing that lies in a trace makes the walk over messages fail.
func FuzzMessages(f *testing.F) {
	f.Add(join(parse("a", "select 1"), bind("a"), execute(), syncs()))
	f.Add(join(closes("a"), copyData("x"), copyDone(), message('D', "Sa\x00")))
	f.Add([]byte{'P', 0, 0, 0, 4})
	f.Add([]byte{'B', 255, 255, 255, 255, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		seen := 0
		for rest := b; ; {
			_, body, next, ok := nextMessage(rest)
			if !ok {
				break
			}
			seen += messageHeader + len(body)
			rest = next
		}
		if seen > len(b) {
			t.Fatalf("%d bytes in messages of %d", seen, len(b))
		}
		lastType(b)
		p := prepared{}
		p.passed(b)
		p.wants(b)
		for _, op := range []trace.Op{trace.OpPrepare, trace.OpExecute} {
			if w := watch(op, b); w != nil {
				p.failed(&flight{parse: w, status: trace.Error})
				p.wants(b)
			}
		}
		if p.bytes < 0 || p.bytes > maxHeld {
			t.Fatalf("%d bytes are held", p.bytes)
		}
	})
}
