package replay

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// RP-13: the administrator ends one session. It is over, with what it asked and
// would have asked counted; the others go on, and so does the next replay.
func TestLiveSessionTerminated(t *testing.T) {
	s := dbtest.Postgres15(t)
	r := tap(t, s.Addr)
	a, b := connect(t, r, s, ""), connect(t, r, s, "")
	ctx := t.Context()
	exec := func(c *pgx.Conn, sql string) {
		t.Helper()
		if _, err := c.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	exec(a, "select 1")
	var slow sync.WaitGroup
	slow.Go(func() { exec(a, "select pg_sleep(2)") })
	for range 20 {
		exec(b, "select 2")
		time.Sleep(20 * time.Millisecond)
	}
	slow.Wait()
	exec(a, "select 3")
	exec(a, "select 4")
	exec(b, "select 5")
	_, _ = a.Close(ctx), b.Close(ctx)
	recorded := r.trace()
	both(t, func(t *testing.T, how func(*Options)) {
		sum := live(t, recorded, s.URL("", ""), how, original, func(o *Options) {
			o.Started = func(*Progress) {
				go func() {
					for range 100 {
						out, err := s.SQL(ctx, "postgres", "select count(pg_terminate_backend(pid)) from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'")
						if err != nil || out != "0\n" && out != "0" {
							return
						}
						time.Sleep(10 * time.Millisecond)
					}
				}()
			}
		})
		// What comes next may be sent before the end of the connection is seen.
		st := sum.Statements
		if st.OK != 22 || st.Error != 1 || st.Lost+st.Unsent != 2 || sum.Errors["57P01"] != 1 || sum.SessionsLost != 1 {
			t.Errorf("%+v %v %v, %d sessions lost", sum.Statements, sum.Errors, sum.Reasons, sum.SessionsLost)
		}
		if again := live(t, recorded, s.URL("", ""), how); again.Statements.OK != 25 || again.SessionsLost != 0 {
			t.Errorf("the next replay: %+v", again.Statements)
		}
	})
}

// RP-13: the target is restarted. Sessions of before are lost, those that begin
// afterwards are replayed, and all is counted.
func TestLiveTargetRestarted(t *testing.T) {
	s := dbtest.Postgres15(t)
	to := s.Clone(t)
	r := tap(t, s.Addr)
	first := connect(t, r, s, "")
	ctx := t.Context()
	for _, sql := range []string{"select 1", "select 2 from pg_sleep(6)", "select 3"} {
		if _, err := first.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	_ = first.Close(ctx)
	later := connect(t, r, s, "")
	if _, err := later.Exec(ctx, "select 4", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	_ = later.Close(ctx)
	var restarted sync.WaitGroup
	sum := live(t, r.trace(), to.URL("", ""), original, func(o *Options) {
		o.Started = func(p *Progress) {
			restarted.Go(func() {
				for p.Now().Statements < 1 {
					time.Sleep(time.Millisecond)
				}
				if err := to.Kill(); err != nil {
					t.Error(err)
				}
				if err := to.Restart(ctx); err != nil {
					t.Error(err)
				}
			})
		}
	})
	restarted.Wait()
	want := Tally{Captured: 4, OK: 2, Lost: 1, Unsent: 1}
	if sum.Statements != want || sum.SessionsLost != 1 || sum.SessionsFailed != 0 {
		t.Errorf("%+v %v %v", sum.Statements, sum.Errors, sum.Reasons)
	}
}
