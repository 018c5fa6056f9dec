package replay

import (
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// digest is of all that a database holds, sequences included.
func digest(t testing.TB, s *dbtest.Server, db string) string {
	t.Helper()
	var all []string
	names := count(t, s, db, "select oid::regclass from pg_class where relkind in ('r', 'S') and relnamespace = 'public'::regnamespace order by 1")
	for name := range strings.Lines(names) {
		name = strings.TrimSpace(name)
		all = append(all, name, count(t, s, db, "select count(*), sum(hashtextextended(x::text, 0)::numeric) from (select * from "+name+") x"))
	}
	return strings.Join(all, " ")
}

// RP-16: a replay that may only read leaves every table as it was.
func TestLiveReadOnlyPgbench(t *testing.T) {
	s := dbtest.Postgres15(t)
	s.Pgbench(t, "-i", "-q", "-s", "1")
	s.Psql(t, "create database copy template postgres")
	before := digest(t, s, "copy")
	for _, mode := range []string{"simple", "extended", "prepared"} {
		t.Run(mode, func(t *testing.T) {
			r := tap(t, s.Addr)
			if _, err := dbtest.RunPgbench(t.Context(), r.addr(), "-n", "-M", mode, "-c", "4", "-j", "2", "-t", "30", "-b", "tpcb-like"); err != nil {
				t.Fatal(err)
			}
			recorded := r.trace()
			sum := live(t, recorded, s.URL("", "copy"), readOnly)
			// Of the seven statements of a transaction three are updates and one an insert.
			if sum.Statements.Filtered != 4*30*4 || sum.Statements.OK != sum.Statements.Captured-4*30*4 || sum.Diverged != 0 {
				t.Errorf("%+v %v %v", sum.Statements, sum.Reasons, sum.Errors)
			}
			if after := digest(t, s, "copy"); after != before {
				t.Errorf("the tables are not what they were")
			}
			if mode == "simple" { // the check can fail
				live(t, recorded, s.URL("", "copy"))
				if digest(t, s, "copy") == before {
					t.Error("a replay that may write leaves the tables as they were")
				}
				before = digest(t, s, "copy")
			}
		})
	}
}

// RP-16: what hides its writing from who reads its words is refused by the server.
func TestLiveReadOnlyStatements(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, `create table t(a int); insert into t values (1), (2); create sequence q;
		create function touch() returns int language sql as 'insert into t values (99) returning a';
		create procedure put() language sql as 'insert into t values (98)'`, "a", "b")
	writes := []string{
		"insert into t values (3)", "update t set a = a + 1", "delete from t where a = 2",
		"with x as (insert into t values (4) returning a) select a from x", "select a from t for update",
		"explain analyze delete from t", "explain (analyze) insert into t values (5)", "select nextval('q')", "select setval('q', 50)",
		"call put()", "do $$ begin insert into t values (6); end $$", "create table u (a int)", "drop table u",
		"select a into v from t", "truncate t", "prepare w as insert into t values (7)", "execute w",
	}
	reads := []string{"select a from t", "begin", "select count(*) from t", "savepoint x", "set search_path = public", "commit", "show all", "explain delete from t"}
	hidden := []string{"select touch()"}
	r := tap(t, s.Addr)
	ctx := t.Context()
	for _, how := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheStatement} {
		c := connect(t, r, s, "a")
		for _, all := range [][]string{reads, writes, hidden} {
			for _, sql := range all {
				_, _ = c.Exec(ctx, sql, how)
			}
		}
		for _, sql := range []string{"drop table v", "deallocate w"} {
			_, _ = c.Exec(ctx, sql, how)
		}
		_, err := c.PgConn().CopyFrom(ctx, newlines(3), "copy t from stdin")
		if err != nil {
			t.Error(err)
		}
		_ = c.Close(ctx)
	}
	recorded := r.trace()
	before := digest(t, s, "b")
	sum := live(t, recorded, s.URL("", "b"), readOnly)
	if after := digest(t, s, "b"); after != before {
		t.Error("the tables are not what they were")
	}
	if sum.Errors["25006"] != 2 || sum.Reasons["read_only"] < 2*uint64(len(writes)+1) {
		t.Errorf("%+v %v %v", sum.Statements, sum.Reasons, sum.Errors)
	}
	if len(sum.Errors) > 2 { // deallocate w: it was never prepared
		t.Errorf("%v", sum.Errors)
	}
}

// newlines is COPY data of so many rows.
func newlines(n int) io.Reader { return strings.NewReader(strings.Repeat("1\n", n)) }
