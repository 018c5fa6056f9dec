package pg

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// inForce is what a sink hears of settings.
type inForce struct {
	nothing
	sets, open []string
	calls      int
}

func (f *inForce) Sets(sets, open [][]byte) {
	f.calls++
	text := func(all [][]byte) (out []string) {
		for _, b := range all {
			out = append(out, string(b))
		}
		return out
	}
	f.sets, f.open = text(sets), text(open)
}

func TestSetsInForce(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"latest of each, oldest first", `
			> Q:set a.b = 1
			< C:SET | Z:I
			> Q:set c.d = 1
			< C:SET | Z:I
			> Q:set A.B = 2; 
			< C:SET | Z:I`, "set c.d = 1|set A.B = 2"},
		{"reset", `
			> Q:set a.b = 1; set c.d = 1; reset a.b
			< C:SET | C:SET | C:RESET | Z:I`, " set c.d = 1"},
		{"reset all keeps the role", `
			> Q:set a.b = 1; set role x; reset all
			< C:SET | C:SET | C:RESET | Z:I`, " set role x"},
		{"discard all keeps nothing", `
			> Q:set a.b = 1; set role x
			< C:SET | C:SET | Z:I
			> Q:discard all
			< C:DISCARD ALL | Z:I`, ""},
		{"rolled back", `
			> Q:begin; set a.b = 1
			< C:BEGIN | C:SET | Z:T
			> Q:rollback
			< C:ROLLBACK | Z:I`, ""},
		{"committed, with a failed commit after it", `
			> Q:begin; set a.b = 1; commit
			< C:BEGIN | C:SET | C:COMMIT | Z:I
			> Q:begin; set c.d = 1
			< C:BEGIN | C:SET | Z:T
			> Q:bad
			< E:42601 | Z:E
			> Q:commit
			< C:ROLLBACK | Z:I`, " set a.b = 1"},
		{"open", `
			> Q:begin; set a.b = 1
			< C:BEGIN | C:SET | Z:T`, " open  set a.b = 1"},
		{"savepoints", `
			> Q:begin; savepoint x; set a.b = 1; savepoint x; set c.d = 1; savepoint y; set e.f = 1
			< C:BEGIN | C:SAVEPOINT | C:SET | C:SAVEPOINT | C:SET | C:SAVEPOINT | C:SET | Z:T
			> Q:rollback to savepoint y; release y; rollback to x; commit
			< C:ROLLBACK | C:RELEASE | C:ROLLBACK | C:COMMIT | Z:I`, " set a.b = 1"},
		{"a savepoint from before", `
			> Q:begin; savepoint x; set a.b = 1; rollback to x; commit
			< C:BEGIN | C:SAVEPOINT | C:SET | C:ROLLBACK | C:COMMIT | Z:I`, ""},
		{"an implicit transaction that fails", `
			> Q:set a.b = 1; select 1/0
			< C:SET | E:22012 | Z:I`, ""},
		{"a pipeline that fails", `
			> P::set a.b = 1 | B: | E: | P::select 1/0 | B: | E: | S
			< 1 | 2 | C:SET | 1 | 2 | E:22012 | Z:I`, ""},
		{"extended, prepared before", `
			> P:s:set a.b = 1 | S
			< 1 | Z:I
			> B::s | E: | S
			< 2 | C:SET | Z:I`, "set a.b = 1"},
		{"local", `
			> Q:begin; set local a.b = 1; commit
			< C:BEGIN | C:SET | C:COMMIT | Z:I`, ""},
		{"set_config", `
			> Q:select pg_catalog.set_config('search_path', '', false);
			< T | D:x | C:SELECT 1 | Z:I`, "select pg_catalog.set_config('search_path', '', false)"},
		{"a secret takes the place of what was there, and is not kept", `
			> Q:set app.password = default
			< C:SET | Z:I
			> Q:set app.token = 'x'
			< C:SET | Z:I`, ""},
	} {
		f := &inForce{}
		feed(t, NewConversation(f, Options{LoggedIn: true, Ordinal: 1}), script(t, c.script))
		got := strings.Join(f.sets, "|")
		if len(f.open) > 0 {
			got += " open " + strings.Join(f.open, "|")
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Whoever does nothing with settings never hears of them.
func TestNoSetsNoCalls(t *testing.T) {
	f := &inForce{}
	feed(t, NewConversation(f, Options{LoggedIn: true, Ordinal: 1}), script(t, `
		> Q:begin; savepoint a; set local x.y = 1; rollback to a; bad
		< C:BEGIN | C:SAVEPOINT | C:SET | C:ROLLBACK | E:42601 | Z:E
		> Q:rollback
		< C:ROLLBACK | Z:I
		> Q:reset all
		< C:RESET | Z:I
		> Q:discard all
		< C:DISCARD ALL | Z:I`))
	if f.calls > 0 {
		t.Errorf("%d calls", f.calls)
	}
}

// A real server's settings after random statements are those of a fresh session
// that runs what is said to be in force.
func TestSetsAgainstServer(t *testing.T) {
	server := dbtest.Postgres15(t)
	ctx := context.Background()
	connect := func() *pgx.Conn {
		c, err := pgx.Connect(ctx, server.URL("", "")+"?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(ctx) })
		return c
	}
	setup := connect()
	for _, sql := range []string{"create role r1", "create role r2"} {
		if _, err := setup.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	statements := []string{
		"set search_path = a", "set search_path to b, c", "set local search_path = d", "reset search_path", "set search_path to default",
		"set time zone 'UTC'", "set timezone = 'Europe/Rome'", "reset time zone", "set names 'LATIN1'", "set names default",
		"set role r1", "set role none", "reset role", "set session authorization r2", "reset session authorization",
		"reset all", "discard all", "select set_config('work_mem', '128kB', false)", "select set_config('work_mem', '256kB', true)",
		"set session characteristics as transaction read only", "set default_transaction_read_only = off",
		"set session characteristics as transaction isolation level serializable, read write",
		"prepare a as select 1", "prepare b as select 2", "deallocate a", "deallocate all", "discard plans",
		"begin", "begin", "commit", "commit", "rollback", "savepoint x", "savepoint y", "rollback to x", "rollback to y", "release x",
		"select 1/0", "set work_mem = '1MB'; select 1/0", "set work_mem = '2MB'; set app.x = 'y'", "commit and chain",
		"begin; set work_mem = '3MB'; savepoint x; set work_mem = '4MB'; set app.x = 'q'", "rollback to x; set search_path = e; commit",
		"begin; savepoint x; set app.x = 'v'; savepoint x; set app.x = 'u'; release x; rollback to x; set work_mem = '5MB'; commit",
		"set app.x = 'z'; savepoint x; set app.x = 'w'",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		c, f := connect(), newTwin()
		conv := NewConversation(f, Options{LoggedIn: true, Ordinal: 1})
		var did []string
		run := func(sql string) {
			did = append(did, sql)
			roundTrip(t, conv, c, sql)
		}
		for range 25 {
			run(statements[r.IntN(len(statements))])
		}
		run("rollback")
		if err := f.check(); err != nil {
			t.Errorf("after %s: %v", strings.Join(did, "; "), err)
		}
		want, fresh := settingsOf(t, c), connect()
		for _, sql := range f.sets {
			if _, err := fresh.Exec(ctx, sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		if got := settingsOf(t, fresh); !maps.Equal(got, want) {
			t.Errorf("after %s\nin force: %q\n got %v\nwant %v", strings.Join(did, "; "), f.sets, got, want)
		}
		_ = c.Close(ctx)
		_ = fresh.Close(ctx)
	}
}

// roundTrip sends a query on a connection of pgx, and shows it to a conversation.
func roundTrip(t *testing.T, conv *Conversation, c *pgx.Conn, sql string) {
	t.Helper()
	b := appendQuery(nil, []byte(sql))
	h := c.PgConn().Conn()
	if err := conv.Client(b, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Write(b); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for conv.Pending() > 0 {
		n, err := h.Read(buf)
		if err == nil {
			err = conv.Server(buf[:n], 1)
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func settingsOf(t *testing.T, c *pgx.Conn) map[string]string {
	t.Helper()
	all := map[string]string{}
	names := []string{
		"search_path", "timezone", "client_encoding", "work_mem", "default_transaction_read_only",
		"default_transaction_isolation", "app.x",
	}
	var parts []string
	for _, n := range names {
		parts = append(parts, fmt.Sprintf("coalesce(current_setting('%s', true), '')", n))
	}
	row := c.PgConn().Exec(context.Background(), "select session_user, current_user, "+strings.Join(parts, ", "))
	results, err := row.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range results[0].Rows[0] {
		all[slices.Concat([]string{"session_user", "current_user"}, names)[i]] = string(v)
	}
	return all
}
