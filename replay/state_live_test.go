package replay

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// askAll runs statements one by one, each a simple query, whatever comes of them.
func askAll(ctx context.Context, c *pgx.Conn, statements ...string) {
	for _, sql := range statements {
		_, _ = c.PgConn().Exec(ctx, sql).ReadAll()
	}
}

// RP-11, RP-12, RP-18: what one statement does to its session, later ones rest
// on: every one comes out as recorded, results included, failures too.
func TestLiveSessionState(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table t(a int primary key, b text); insert into t select g, 'row ' || g from generate_series(1, 100) g; create role reader; grant select on t to reader",
		"a")
	s.Psql(t, "create database b template a")
	for name, statements := range map[string][]string{
		"settings": {
			"begin", "set local work_mem = '7MB'", "show work_mem", "commit", "show work_mem",
			"begin", "set datestyle = German", "rollback", "select date '2020-01-02'",
			"set datestyle = German", "select date '2020-01-02'", "set role reader", "select current_user", "delete from t", "reset role",
			"set session characteristics as transaction read only", "delete from t", "discard all", "select date '2020-01-02'", "show transaction_read_only",
		},
		"temporary tables": {
			"create temp table s(x int)", "insert into s select generate_series(1, 9)", "select sum(x) from s",
			"begin", "create temp table d(x int) on commit drop", "insert into d values (1)", "select * from d", "commit", "select * from d",
			"discard temp", "select * from s",
		},
		"advisory locks": {
			"select pg_advisory_lock(7)", "select pg_try_advisory_lock(7)", "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
			"select pg_advisory_unlock(7)", "select pg_advisory_unlock(7)", "select pg_advisory_unlock(7)",
			"begin", "select pg_advisory_xact_lock(8)", "commit", "select pg_advisory_unlock_all()",
		},
		"savepoints": {
			"begin", "savepoint a", "insert into t values (1, 'again')", "select 'in vain'", "rollback to a", "insert into t values (1001, 'x')",
			"savepoint b", "delete from t where a < 50", "rollback to savepoint b", "release a", "rollback to a", "rollback", "select count(*) from t",
		},
		"cursors": {
			"declare c cursor for select 1", "begin", "declare c scroll cursor for select a from t order by a", "fetch 3 from c", "move 10 in c", "fetch backward 2 from c",
			"declare h cursor with hold for select b from t order by a", "fetch h", "update t set b = 'current' where current of c", "commit",
			"fetch c", "fetch 5 from h", "close h", "fetch h",
		},
		"prepare": {
			"prepare p(int) as select b from t where a = $1", "execute p(3)", "prepare p as select 1", "execute p(4)", "deallocate p", "execute p(5)",
			"prepare q as select 1", "deallocate all", "execute q", "prepare q as select 2", "execute q", "discard all", "execute q", "prepare q as select 3", "execute q",
		},
		"notifications": {
			"listen ch", "notify ch, 'one'", "begin", "notify ch, 'two'", "select 'not yet'", "commit", "select pg_notify('ch', g::text) from generate_series(1, 50) g",
			"select pg_listening_channels()", "unlisten *", "notify ch", "select pg_listening_channels()",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := tap(t, s.Addr)
			c := connect(t, r, s, "a")
			askAll(t.Context(), c, statements...)
			_ = c.Close(t.Context())
			recorded := r.trace()
			both(t, func(t *testing.T, how func(*Options)) {
				sum, differ := diverging(t, recorded, s.URL("", "b"), how)
				st := sum.Statements
				if st.Captured != uint64(len(statements)) || st.OK+st.Error != st.Captured || len(differ) > 0 {
					t.Errorf("%d statements: %+v %v, diverged %q", len(statements), st, sum.Reasons, differ)
				}
			})
		})
	}
}

// RP-18, PG-15: a session that only listens does not wait for notifications that
// do not come, and those that come are no replies.
func TestLiveListener(t *testing.T) {
	s := dbtest.Postgres15(t)
	r := tap(t, s.Addr)
	ctx := t.Context()
	listener, notifier := connect(t, r, s, ""), connect(t, r, s, "")
	askAll(ctx, listener, "listen ch")
	askAll(ctx, notifier, "notify ch, 'hi'")
	if n, err := listener.WaitForNotification(ctx); err != nil || n.Payload != "hi" {
		t.Fatalf("%v %v", n, err)
	}
	askAll(ctx, listener, "select 1", "unlisten ch")
	_, _ = listener.Close(ctx), notifier.Close(ctx)
	recorded := r.trace()
	for _, only := range []string{"", "listener"} {
		both(t, func(t *testing.T, how func(*Options)) {
			began := time.Now()
			sum, differ := diverging(t, recorded, s.URL("", ""), how, func(o *Options) {
				if only != "" {
					o.Skip = parsed(t, `text:"notify ch"`)
				}
			})
			if sum.Statements.OK+sum.Statements.Filtered != 4 || len(differ) > 0 || time.Since(began) > 10*time.Second {
				t.Errorf("%+v %q after %s", sum.Statements, differ, time.Since(began))
			}
		})
	}
}

// PG-14: types that users made have other numbers in other databases.
func TestLiveForeignTypes(t *testing.T) {
	s := dbtest.Postgres15(t)
	const schema = "create type mood as enum ('sad', 'happy'); create domain even as int check (value % 2 = 0); create table t(id int, m mood, n even, all_moods mood[])"
	databases(t, s, schema, "a", "b")
	r := tap(t, s.Addr)
	c := connect(t, r, s, "a")
	ctx := t.Context()
	oid := func(name string) uint32 {
		var n uint32
		if err := c.QueryRow(ctx, "select '"+name+"'::regtype::oid", pgx.QueryExecModeSimpleProtocol).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	types := []uint32{23, oid("mood"), oid("even"), oid("mood[]")}
	pg := c.PgConn()
	const insert = "insert into t values ($1, $2, $3, $4)"
	values := func(id, mood, even string) [][]byte {
		return [][]byte{[]byte(id), []byte(mood), []byte(even), []byte("{" + mood + "}")}
	}
	if _, err := pg.Prepare(ctx, "s", insert, types); err != nil {
		t.Fatal(err)
	}
	for i, mood := range []string{"sad", "happy"} {
		got := pg.ExecPrepared(ctx, "s", values(fmt.Sprint(i), mood, "4"), nil, nil).Read()
		unnamed := pg.ExecParams(ctx, insert, values(fmt.Sprint(10+i), mood, "6"), types, []int16{0, 1, 0, 0}, nil).Read()
		if got.Err != nil || unnamed.Err != nil {
			t.Fatal(got.Err, unnamed.Err)
		}
	}
	for _, wrong := range [][][]byte{values("20", "angry", "2"), values("21", "sad", "3")} { // refused there, too
		if got := pg.ExecPrepared(ctx, "s", wrong, nil, nil).Read(); got.Err == nil {
			t.Fatal("taken")
		}
	}
	_ = c.Close(ctx)
	recorded := r.trace()
	sum := live(t, recorded, s.URL("", "b"))
	const all = "select string_agg(t::text, ' ' order by id) from t"
	if got, want := count(t, s, "b", all), count(t, s, "a", all); got != want || strings.Count(want, "(") != 4 {
		t.Errorf("replayed %s, recorded %s", got, want)
	}
	if sum.Diverged != 0 || !strings.Contains(strings.Join(sum.Warnings, "\n"), "6 statements declare parameter types") {
		t.Errorf("%+v %v %q", sum.Statements, sum.Errors, sum.Warnings)
	}
}

// Values in binary that hold the numbers of such types arrive as what they are.
func TestLiveForeignTypesInValues(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create type mood as enum ('sad'); create table t(m mood[])", "a", "b")
	r := tap(t, s.Addr)
	c := connect(t, r, s, "a")
	ctx := t.Context()
	var mood, moods uint32
	if err := c.QueryRow(ctx, "select 'mood'::regtype::oid, 'mood[]'::regtype::oid", pgx.QueryExecModeSimpleProtocol).Scan(&mood, &moods); err != nil {
		t.Fatal(err)
	}
	var array []byte // one dimension, no nulls, one element from 1 on
	for _, n := range []uint32{1, 0, mood, 1, 1, 3} {
		array = binary.BigEndian.AppendUint32(array, n)
	}
	array = append(array, "sad"...)
	if got := c.PgConn().ExecParams(ctx, "insert into t values ($1)", [][]byte{array}, []uint32{moods}, []int16{1}, nil).Read(); got.Err != nil {
		t.Fatal(got.Err)
	}
	_ = c.Close(ctx)
	sum := live(t, r.trace(), s.URL("", "b"))
	if got := count(t, s, "b", "select m from t"); sum.Diverged != 0 || got != "{sad}" {
		t.Errorf("replayed %q, %+v %v", got, sum.Statements, sum.Errors)
	}
}

// RP-18: COPY data that were too large to be kept. The COPY fails as a whole,
// its data are not sent in part, and the session goes on.
func TestLiveCopyOverLimit(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table t(a int, b text)", "a", "b", "c")
	r := tap(t, s.Addr)
	c := connect(t, r, s, "a")
	ctx := t.Context()
	row := func(n int) string { return "1\t" + strings.Repeat("x", n) + "\n" }
	for _, data := range [][]string{{row(3 << 20)}, {row(10), row(3 << 20), row(10)}, {strings.Repeat(row(100), 50_000)}} {
		copyIn(t, c.PgConn().Frontend(), data)
		askAll(ctx, c, "insert into t values (2, 'after')")
	}
	_ = c.Close(ctx)
	recorded := r.trace()
	for db, how := range map[string]func(*Options){"b": func(*Options) {}, "c": threads} {
		sum := live(t, recorded, s.URL("", db), how)
		if got := count(t, s, db, "select count(*) filter (where a = 1), count(*) filter (where a = 2) from t"); got != "0|3" {
			t.Errorf("rows %s", got)
		}
		if sum.Statements.OK != 3 || sum.Reasons[skipOverLimit.String()] != 3 {
			t.Errorf("%+v %v %v %v", sum.Statements, sum.Reasons, sum.EventReasons, sum.Errors)
		}
	}
}

// copyIn sends each piece as one message.
func copyIn(t *testing.T, f *pgproto3.Frontend, pieces []string) {
	t.Helper()
	f.Send(&pgproto3.Query{String: "copy t from stdin"})
	await := func(last func(pgproto3.BackendMessage) bool) {
		t.Helper()
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
		for {
			m, err := f.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if refused, ok := m.(*pgproto3.ErrorResponse); ok {
				t.Fatal(refused.Message)
			}
			if last(m) {
				return
			}
		}
	}
	await(func(m pgproto3.BackendMessage) bool { _, ok := m.(*pgproto3.CopyInResponse); return ok })
	for _, data := range pieces {
		f.Send(&pgproto3.CopyData{Data: []byte(data)})
	}
	f.Send(&pgproto3.CopyDone{})
	await(func(m pgproto3.BackendMessage) bool { _, ok := m.(*pgproto3.ReadyForQuery); return ok })
}
