package replay

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// Two sessions change one row, one after the other but in no order that either
// could know, so that the value at the end tells the order of all changes.
func TestLiveCommitOrder(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table v(n bigint); insert into v values (1)", "a", "b")
	r := tap(t, s.Addr)
	const changes = 40
	var turn sync.Mutex
	var both sync.WaitGroup
	for range 2 {
		c := connect(t, r, s, "a")
		both.Go(func() {
			for range changes / 2 {
				turn.Lock()
				if err := changeRow(t.Context(), c); err != nil {
					t.Error(err)
				}
				turn.Unlock()
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
			}
			_ = c.Close(t.Context())
		})
	}
	both.Wait()
	recorded := r.trace()
	want := count(t, s, "a", "select n from v")

	const times = 20 // of 200 none ended so without an order, and all in that of commits
	admin, err := pgx.Connect(t.Context(), s.URL("", "b"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	for _, order := range []string{OrderSession, OrderCommit} {
		t.Run(order, func(t *testing.T) {
			same := 0
			for range times {
				if _, err := admin.Exec(t.Context(), "update v set n = 1"); err != nil {
					t.Fatal(err)
				}
				sum := live(t, recorded, s.URL("", "b"), func(o *Options) { o.Pace, o.Speed, o.Order = PaceOriginal, 100, order })
				if sum.Statements.OK != sum.Statements.Captured || sum.OrderReleased != 0 {
					t.Fatalf("%+v, %d released", sum.Statements, sum.OrderReleased)
				}
				var got string
				if err := admin.QueryRow(t.Context(), "select n::text from v").Scan(&got); err != nil {
					t.Fatal(err)
				}
				if got == want {
					same++
				}
			}
			t.Logf("%d of %d replays end with the recorded value", same, times)
			if order == OrderCommit && same != times {
				t.Errorf("only %d of %d replays end with the recorded value", same, times)
			}
			if order == OrderSession && same == times {
				t.Error("all replays end with the recorded value without an order: this test proves nothing")
			}
		})
	}
}

// changeRow multiplies and adds, alone or in a transaction.
func changeRow(ctx context.Context, c *pgx.Conn) error {
	k := rand.IntN(1000)
	change := func(c interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	},
	) error {
		var n int64
		return c.QueryRow(ctx, "update v set n = (n * 3 + $1) % 1000000007 returning n", k).Scan(&n)
	}
	if k%2 == 0 {
		return change(c)
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// pgbench's clients wait for each other's row locks: no order of starts may make
// that a standstill.
func TestLiveCommitOrderOfPgbench(t *testing.T) {
	s := dbtest.Postgres15(t)
	s.Pgbench(t, "-i", "-q", "-s", "1")
	s.Psql(t, "create database copy template postgres")
	r := tap(t, s.Addr)
	if _, err := dbtest.RunPgbench(t.Context(), r.addr(), "-n", "-c", "8", "-j", "2", "-t", "50", "-b", "tpcb-like"); err != nil {
		t.Fatal(err)
	}
	recorded := r.trace()
	both(t, func(t *testing.T, how func(*Options)) {
		for _, pace := range []string{PaceOriginal, PaceClosed} {
			sum := live(t, recorded, s.URL("", "copy"), how, commitOrder, func(o *Options) {
				if o.Pace = pace; pace == PaceOriginal {
					o.Speed = 100
				}
			})
			if sum.Statements.OK != sum.Statements.Captured || sum.OrderReleased != 0 || sum.OrderWaited == 0 {
				t.Errorf("%s: %+v %v, waited %d, released %d", pace, sum.Statements, sum.Errors, sum.OrderWaited, sum.OrderReleased)
			}
		}
	})
}
