package replay

import (
	"bytes"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// RP-07, RP-10: the second half of a recording, cut in the middle of a transaction
// of a session that has prepared statements and settings, is replayed on its own.
func TestLiveSecondHalf(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create schema other; create table other.t(a int, at text); create table public.t(a int, at text)", "a", "b")
	r := tap(t, s.Addr)
	ctx := t.Context()
	c, err := pgx.Connect(ctx, s.URLVia(r.addr(), dbtest.User, "a")+"?sslmode=disable&options=-c%20default_transaction_isolation%3Dserializable")
	if err != nil {
		t.Fatal(err)
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := c.Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	const insert = "insert into t select $1::int, current_setting('datestyle') || current_setting('transaction_isolation')"
	exec("set search_path = other")
	exec("set datestyle = 'German, DMY'")
	exec(insert, 1)
	exec("begin")
	exec(insert, 2)
	exec("select 'cut here'")
	exec(insert, 3)
	exec("commit")
	exec(insert, 4)
	exec("begin")
	exec(insert, 5)
	exec("commit")
	_ = c.Close(ctx)

	half := secondHalf(t, r.trace())
	sum := live(t, half, s.URL("", "b"))
	got := count(t, s, "b", "select string_agg(a || at, ' ' order by a) from other.t")
	if want := "4German, DMYserializable 5German, DMYserializable"; got != want {
		t.Errorf("replayed: %q, want %q", got, want)
	}
	if sum.Reasons["partial_transaction"] != 3 || sum.Statements.OK != 4 || sum.Diverged != 0 || len(sum.Errors) != 0 {
		t.Errorf("%+v %v %v", sum.Statements, sum.Reasons, sum.Errors)
	}
}

// secondHalf is a trace from the event on that says so, with the session's state
// as it was then, such as trace cut makes it.
func secondHalf(t testing.TB, recorded []byte) []byte {
	t.Helper()
	in := trace.NewReader(bytes.NewReader(recorded), "recording")
	var out bytes.Buffer
	h := *in.Header()
	w, err := trace.NewWriter(&out, h, trace.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	state := trace.State{Transaction: "idle"}
	begun := false
	err = in.EachWithState(func(e *trace.Event, s *trace.State) error {
		state.Session, state.Database, state.User, state.Settings = e.Session, s.Database, s.User, s.Settings
		joined, _ := pg.Join(nil, e.Entry.Shape, e.Sizes, e.Values)
		sql := string(sqlOf(joined))
		switch {
		case begun:
		case sql == "select 'cut here'":
			begun = true
			state.Ordinal, state.Start, state.Transaction = e.Ordinal, e.Start, "open"
			if err := w.State(&state); err != nil {
				return err
			}
		default:
			if first, _ := keyword(sql); first == "SET" && e.Entry.Op.Statement() {
				state.Sets = append(state.Sets, []byte(sql))
			}
			if kind, body, rest, ok := nextMessage(joined); ok && kind == 'P' {
				if name, _ := word(body); len(name) > 0 {
					state.Statements = append(state.Statements, trace.Prepared{Name: bytes.Clone(name), Message: bytes.Clone(joined[:len(joined)-len(rest)])})
				}
			}
			return nil
		}
		id, err := w.InternEntry(e.Entry)
		if err != nil {
			return err
		}
		own := *e
		own.Shape = id
		return w.Event(&own)
	})
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !begun {
		t.Fatal("no place to cut at")
	}
	return out.Bytes()
}
