package replay

import (
	"sync"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// Every pace on a real server takes the time it should: four clients that pause
// 25 ms between forty statements each.
func TestLivePaces(t *testing.T) {
	s := dbtest.Postgres15(t)
	r := tap(t, s.Addr)
	const clients, queries, pause = 4, 40, 25 * time.Millisecond
	var group sync.WaitGroup
	began := time.Now()
	for range clients {
		c := connect(t, r, s, "postgres")
		group.Go(func() {
			for range queries {
				if _, err := c.PgConn().Exec(t.Context(), "select 1").ReadAll(); err != nil {
					t.Error(err)
				}
				time.Sleep(pause)
			}
			_ = c.Close(t.Context())
		})
	}
	group.Wait()
	recorded, took := r.trace(), time.Since(began)
	const paused = queries * pause
	for _, c := range []struct {
		name        string
		o           Options
		least, most time.Duration
	}{
		{"original", Options{Pace: PaceOriginal}, paused, took + paused},
		{"original, four times as fast", Options{Pace: PaceOriginal, Speed: 4}, paused / 4, took/4 + paused/2},
		{"think", Options{Pace: PaceThink}, paused, took + paused},
		{"think, four times as fast", Options{Pace: PaceThink, Speed: 4}, paused / 4, took/4 + paused/2},
		{"think, without pauses over 5 ms", Options{Pace: PaceThink, MaxGap: 5 * time.Millisecond}, paused / 5, took},
		{"closed", Options{Pace: PaceClosed}, 0, paused / 2},
		{"rate=320/s", Options{Pace: PaceRate, Rate: 320}, (clients*queries - 1) * time.Second / 320, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			sum := live(t, recorded, s.URL("", ""), func(o *Options) {
				o.Pace, o.Speed, o.Rate, o.MaxGap = c.o.Pace, c.o.Speed, c.o.Rate, c.o.MaxGap
			})
			if sum.Statements.OK != clients*queries || sum.Diverged != 0 {
				t.Errorf("%+v %v", sum.Statements, sum.Errors)
			}
			if elapsed := time.Duration(sum.ElapsedS * 1e9); elapsed < c.least || elapsed > c.most {
				t.Errorf("took %v, want between %v and %v; recorded were %v", elapsed, c.least, c.most, took)
			}
		})
	}
}
