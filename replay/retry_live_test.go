package replay

import (
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// Serializable transactions that were recorded one after the other get into each
// other's way when they are replayed at once. Sent again, all of them succeed,
// each exactly once.
func TestLiveRetry(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table v(n int, m int); insert into v values (0, 0)", "a", "b", "c", "d")
	r := tap(t, s.Addr)
	ctx := t.Context()
	const sessions, each = 6, 20
	for range sessions {
		c := connect(t, r, s, "a")
		for n := range each {
			tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
			if err != nil {
				t.Fatal(err)
			}
			var was int
			if err := tx.QueryRow(ctx, "select n from v where m >= $1", 0).Scan(&was); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(ctx, "update v set n = n + 1, m = $1", n); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Close(ctx)
	}
	recorded := r.trace()
	at100 := func(o *Options) { o.Pace, o.Rate = PaceRate, 4000 }
	met := uint64(0)
	for range 5 {
		if met = live(t, recorded, s.URL("", "d"), at100).Errors["40001"]; met > 0 {
			break
		}
	}
	if met == 0 {
		t.Fatal("no two transactions met in five replays")
	}
	for db, how := range map[string]func(*Options){"b": func(*Options) {}, "c": threads} {
		sum := live(t, recorded, s.URL("", db), how, at100, retry(1000))
		if sum.Statements.OK != sum.Statements.Captured || sum.Retries == 0 || sum.Retried == 0 || sum.Diverged != 0 || len(sum.NotRetried) > 0 {
			t.Errorf("%+v %v, %d retries of %d transactions, not retried %v", sum.Statements, sum.Errors, sum.Retries, sum.Retried, sum.NotRetried)
		}
		if got := count(t, s, db, "select n from v"); got != strconv.Itoa(sessions*each) {
			t.Errorf("%s transactions were committed, want %d", got, sessions*each)
		}
		t.Logf("%d retries of %d transactions: %+v", sum.Retries, sum.Retried, sum.RetriedUS)
	}
}
