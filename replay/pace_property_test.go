package replay

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/trace"
)

// drawn is a random recording: sessions that pause, pipeline, come and go.
type drawn struct {
	sessions []*drawnSession
	work     map[string]time.Duration // what the replay's server takes for each statement
	flushes  int                      // a block ends after so many events
}

type drawnSession struct {
	name    string
	begin   time.Duration // connects; a millisecond later it is there
	end     time.Duration // 0 if it is open when the recording ends
	queries []drawnQuery
}

type drawnQuery struct {
	start, end time.Duration
	late       bool // the reply comes in a block of its own
	sql        string
}

// spacing keeps the starts of different sessions apart, so that there is one
// recorded order.
const spacing = 16 * time.Microsecond

func drawRecording(t *rapid.T) *drawn {
	d := &drawn{work: map[string]time.Duration{}, flushes: rapid.IntRange(1, 30).Draw(t, "block")}
	random := func(most int, name string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * spacing * 10
	}
	n := rapid.IntRange(1, 6).Draw(t, "sessions")
	for i := range n {
		s := &drawnSession{name: fmt.Sprint(i), begin: random(3000, "begin") + time.Duration(i)*time.Microsecond}
		now, end := s.begin+ms+spacing, s.begin+ms
		now = now.Truncate(spacing) + spacing + time.Duration(i)*time.Microsecond
		for k := range rapid.IntRange(0, 12).Draw(t, "queries") {
			if rapid.IntRange(0, 3).Draw(t, "pipelined") > 0 { // the client waits
				now = max(now, end.Truncate(spacing)+spacing+time.Duration(i)*time.Microsecond)
			}
			now += random(500, "pause") + spacing
			end = max(end, now) + spacing + random(300, "took")
			q := drawnQuery{start: now, end: end, late: rapid.Bool().Draw(t, "late"), sql: fmt.Sprintf("select %d %d", i, k)}
			d.work[q.sql] = random(400, "work")
			s.queries = append(s.queries, q)
		}
		if rapid.IntRange(0, 4).Draw(t, "ends") > 0 {
			s.end = max(now, end.Truncate(spacing)+spacing+time.Duration(i)*time.Microsecond) + random(200, "lingers") + 20*spacing
		}
		d.sessions = append(d.sessions, s)
	}
	return d
}

// tape writes the recording as a recorder would: events in the order of their
// starts, late replies when they come.
func (d *drawn) tape(t *testing.T) *tape {
	tp := newTape(t)
	type action struct {
		at time.Duration
		do func()
	}
	var all []action
	for _, s := range d.sessions {
		var own *taped
		all = append(all, action{s.begin, func() { own = tp.session(s.begin, map[string]string{"application_name": s.name}) }})
		for _, q := range s.queries {
			var ordinal uint64
			e := what{op: trace.OpQuery, bytes: query(q.sql), at: q.start, took: q.end - q.start, rows: 1, late: q.late}
			all = append(all, action{q.start, func() { ordinal = own.event(e) }})
			if q.late {
				all = append(all, action{q.end, func() {
					reply := e.reply()
					tp.check(tp.w.Reply(own.id, ordinal, &reply, 0))
				}})
			}
		}
		if s.end > 0 {
			all = append(all, action{s.end, func() { own.end(s.end) }})
		}
	}
	slices.SortStableFunc(all, func(a, b action) int { return int(a.at - b.at) })
	for i, a := range all {
		a.do()
		if i%d.flushes == 0 {
			tp.check(tp.w.Flush())
		}
	}
	return tp
}

// first is when the recording begins.
func (d *drawn) first() time.Duration {
	first := d.sessions[0].begin
	for _, s := range d.sessions {
		first = min(first, s.begin)
	}
	return first
}

// before is how many queries were sent before a time.
func (d *drawn) before(at time.Duration) (n int) {
	for _, s := range d.sessions {
		for _, q := range s.queries {
			if q.start < at {
				n++
			}
		}
	}
	return n
}

// silence is how much was cut before a time, if nothing may last longer in which
// no session has anything running.
func (d *drawn) silence(before, longest time.Duration) (cut time.Duration) {
	type stretch struct{ from, to time.Duration }
	var all []stretch
	for _, s := range d.sessions {
		all = append(all, stretch{s.begin, s.begin + ms})
		for _, q := range s.queries {
			all = append(all, stretch{q.start, q.end})
		}
		if s.end > 0 {
			all = append(all, stretch{s.end, s.end})
		}
	}
	slices.SortFunc(all, func(a, b stretch) int { return int(a.from - b.from) })
	busy := d.first()
	for _, s := range all {
		if s.from > before {
			break
		}
		cut += max(s.from-busy-longest, 0)
		busy = max(busy, s.to)
	}
	return cut
}

// had is how many replies the client had when it sent its nth query.
func (s *drawnSession) had(n int) int {
	for i, q := range s.queries[:n] {
		if q.end > s.queries[n].start {
			return i
		}
	}
	return n
}

// pause is how long the client had been silent before its nth query.
func (s *drawnSession) pause(n int) time.Duration {
	since := s.begin + ms
	if n > 0 {
		since = s.queries[n-1].start
	}
	if had := s.had(n); had > 0 {
		since = max(since, s.queries[had-1].end)
	}
	return s.queries[n].start - since
}

// promise is what a pace promises; began is when the clock started.
type promise struct {
	name    string
	options Options
	// opens is when a session connects.
	opens func(d *drawn, s *drawnSession, all *spy, began time.Time) time.Time
	// due is when its nth query is sent, given what was before.
	due func(d *drawn, s *drawnSession, c *spied, n int, began time.Time) time.Time
}

// predecessors are the sessions that had ended before another one began: when the
// last of them ended, then and in the replay.
func (d *drawn) predecessors(s *drawnSession, all *spy, began time.Time) (recorded time.Duration, replayed time.Time) {
	recorded, replayed = d.first(), began
	for _, o := range d.sessions {
		answered := o.begin + ms
		for _, q := range o.queries {
			answered = max(answered, q.end)
		}
		if o.end > 0 && max(answered, o.end-time.Duration(endSlack)) <= s.begin {
			recorded, replayed = max(recorded, min(o.end, s.begin)), later(replayed, all.of(o.name).closed)
		}
	}
	return recorded, replayed
}

// In every pace, whatever was recorded: each session's statements go out in
// order, each at its moment (so none early), none before the replies that its
// client had had, and every event has one outcome.
func TestEveryPaceKeepsItsPromise(t *testing.T) {
	previous := func(c *spied, n int) time.Time {
		if n == 0 {
			return c.opened
		}
		return c.sent[n-1].at
	}
	anchor := func(s *drawnSession, c *spied, n int) time.Time {
		since := previous(c, n)
		if had := s.had(n); had > 0 && (n == 0 || had > s.had(n-1)) {
			since = later(since, c.replies[had-1])
		}
		return since
	}
	const (
		speed  = 2.5
		maxGap = 20 * ms
	)
	scheduled := func(d *drawn, at time.Duration, began time.Time) time.Time {
		return began.Add(lead + scaledBy(at-d.first(), speed))
	}
	const rate = 200
	numbered := func(d *drawn, at time.Duration, began time.Time) time.Time {
		return began.Add(lead + time.Duration(d.before(at))*time.Second/rate)
	}
	for _, p := range []promise{
		{
			"original",
			Options{Pace: PaceOriginal, Speed: speed},
			func(d *drawn, s *drawnSession, _ *spy, began time.Time) time.Time {
				return scheduled(d, s.begin, began)
			},
			func(d *drawn, s *drawnSession, c *spied, n int, began time.Time) time.Time {
				return later(scheduled(d, s.queries[n].start, began), previous(c, n))
			},
		},
		{
			"think",
			Options{Pace: PaceThink, Speed: speed},
			func(d *drawn, s *drawnSession, all *spy, began time.Time) time.Time {
				recorded, replayed := d.predecessors(s, all, began)
				return replayed.Add(scaledBy(s.begin-recorded, speed))
			},
			func(_ *drawn, s *drawnSession, c *spied, n int, _ time.Time) time.Time {
				return anchor(s, c, n).Add(scaledBy(s.pause(n), speed))
			},
		},
		{
			"original without silence",
			Options{Pace: PaceOriginal, Speed: speed, MaxGap: maxGap},
			func(d *drawn, s *drawnSession, _ *spy, began time.Time) time.Time {
				return scheduled(d, s.begin-d.silence(s.begin, maxGap), began)
			},
			func(d *drawn, s *drawnSession, c *spied, n int, began time.Time) time.Time {
				at := s.queries[n].start
				return later(scheduled(d, at-d.silence(at, maxGap), began), previous(c, n))
			},
		},
		{
			"think without long pauses",
			Options{Pace: PaceThink, Speed: speed, MaxGap: maxGap},
			func(d *drawn, s *drawnSession, all *spy, began time.Time) time.Time {
				recorded, replayed := d.predecessors(s, all, began)
				return replayed.Add(scaledBy(min(s.begin-recorded, maxGap), speed))
			},
			func(_ *drawn, s *drawnSession, c *spied, n int, _ time.Time) time.Time {
				return anchor(s, c, n).Add(scaledBy(min(s.pause(n), maxGap), speed))
			},
		},
		{
			"closed",
			Options{Pace: PaceClosed},
			func(d *drawn, s *drawnSession, all *spy, began time.Time) time.Time {
				_, replayed := d.predecessors(s, all, began)
				return replayed
			},
			func(_ *drawn, _ *drawnSession, c *spied, n int, _ time.Time) time.Time { return previous(c, n) },
		},
		{
			"rate",
			Options{Pace: PaceRate, Rate: rate},
			func(d *drawn, s *drawnSession, _ *spy, began time.Time) time.Time { return numbered(d, s.begin, began) },
			func(d *drawn, s *drawnSession, c *spied, n int, began time.Time) time.Time {
				return later(numbered(d, s.queries[n].start, began), previous(c, n))
			},
		},
	} {
		t.Run(p.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				d := drawRecording(rt)
				var wrong string
				synctest.Test(t, func(t *testing.T) { wrong = d.replayed(t, &p) })
				if wrong != "" {
					rt.Fatal(wrong)
				}
			})
		})
	}
}

func scaledBy(d time.Duration, speed float64) time.Duration {
	return time.Duration(float64(d) / speed)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// replayed replays the recording and tells what is wrong about it.
func (d *drawn) replayed(t *testing.T, p *promise) (wrong string) {
	o := p.options
	f := &fake{work: func(sql string) time.Duration { return d.work[sql] }}
	watch := &spy{connector: f}
	o.connect, o.Clock = watch, clock.NewTimers()
	if o.Pace == PaceThink {
		o.prefetch = 1 // with more, it would hardly matter when the reader thinks it may rest
	}
	began := time.Now()
	sum, err := Run(t.Context(), d.tape(t).reader(), o)
	if err != nil {
		return err.Error()
	}
	f.done.Wait()
	queries := 0
	for _, s := range d.sessions {
		queries += len(s.queries)
	}
	if !sum.Accounted || !sum.Valid || sum.Statements != (Tally{Captured: uint64(queries), OK: uint64(queries)}) {
		return fmt.Sprintf("%d queries: %+v %v", queries, sum.Statements, sum.Why)
	}
	for i, s := range d.sessions {
		c := watch.of(s.name)
		if c == nil {
			return fmt.Sprintf("session %d did not connect", i)
		}
		if want := p.opens(d, s, watch, began); c.opened.Sub(want).Abs() > time.Microsecond {
			return fmt.Sprintf("session %d connected at %v, due was %v", i, c.opened.Sub(began), want.Sub(began))
		}
		for n, q := range s.queries {
			if c.sent[n].sql != q.sql {
				return fmt.Sprintf("%q is the %d. statement of session %d", c.sent[n].sql, n, i)
			}
			want := p.due(d, s, c, n, began)
			if had := s.had(n); had > 0 {
				want = later(want, c.replies[had-1])
			}
			if got := c.sent[n].at; got.Sub(want).Abs() > time.Microsecond {
				return fmt.Sprintf("%q was sent at %v, due was %v", q.sql, got.Sub(began), want.Sub(began))
			}
		}
	}
	return ""
}
