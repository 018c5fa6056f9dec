package replay

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

func checked(o *Options) { o.Check = true }

// diverging replays with checksums and lists what a run says of its diverging
// events, as SQL.
func diverging(t *testing.T, recorded []byte, url string, change ...func(*Options)) (*Summary, []string) {
	t.Helper()
	var run bytes.Buffer
	s := live(t, recorded, url, append(change, checked, func(o *Options) { o.Run = &run })...)
	var all []string
	err := trace.NewReader(&run, "run").Each(func(e *trace.Event) error {
		if e.HasReply && e.Status == trace.OK && !e.HasChecksum {
			t.Errorf("event %d:%d has no checksum", e.Session, e.Ordinal)
		}
		if e.Diverged == trace.DivergedResult {
			all = append(all, e.Entry.SQL())
		} else if e.Diverged != 0 {
			all = append(all, fmt.Sprint(e.Diverged, " ", e.Entry.SQL()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, all
}

// reads asks for the table's content in every way there is.
func reads(t *testing.T, c *pgx.Conn) {
	t.Helper()
	ctx := t.Context()
	for _, sql := range []string{"select * from t", "select b from t where a = 500", "select count(*) from t", "select a from t where a < 9"} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheStatement} {
			rows, err := c.Query(ctx, sql, mode)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
			}
			if rows.Err() != nil {
				t.Fatal(rows.Err())
			}
		}
	}
	if _, err := c.PgConn().CopyTo(ctx, io.Discard, "copy t to stdout"); err != nil {
		t.Fatal(err)
	}
	// Fetched in parts: the rows of a part are the fetch's.
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"declare k cursor for select b from t order by a", "fetch 600 from k", "fetch 600 from k"} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// One value that differs is found by exactly the statements that read it; rows
// in another order are the same rows.
func TestLiveCheck(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table t as select n as a, repeat(chr(97 + n % 20), n % 60) as b from generate_series(1, 1000) n", "a", "same", "sorted", "wrong")
	count(t, s, "sorted", "create table u as select * from t order by a desc")
	count(t, s, "sorted", "drop table t")
	count(t, s, "sorted", "alter table u rename to t")
	count(t, s, "wrong", "update t set b = 'wrong' where a = 500")
	r := tap(t, s.Addr)
	c := connect(t, r, s, "a")
	reads(t, c)
	_ = c.Close(t.Context())
	recorded := r.trace()
	both(t, func(t *testing.T, how func(*Options)) {
		for _, db := range []string{"same", "sorted"} {
			sum, found := diverging(t, recorded, s.URL("", db), how)
			if sum.Diverged != 0 || sum.DivergedOther != 0 || len(found) != 0 || *sum.Checked != sum.Compared || *sum.DivergedResult != 0 {
				t.Errorf("%s: %d of %d checked diverged: %q", db, sum.Diverged, *sum.Checked, found)
			}
		}
		sum, found := diverging(t, recorded, s.URL("", "wrong"), how)
		want := []string{
			"select * from t", "select * from t", "select b from t where a = 0", "select b from t where a = 0",
			"copy t to stdout", "fetch 0 from k",
		}
		if strings.Join(found, "|") != strings.Join(want, "|") || sum.Diverged != 6 || *sum.DivergedResult != 6 {
			t.Errorf("%d diverged: %q, want %q", sum.Diverged, found, want)
		}
		d := sum.Divergences
		if len(d) != 4 || d[0].SQL != "select * from t" || d[0].Statements != 2 || d[0].Result != 2 || d[0].First.Ordinal != 1 || d[0].First.Replayed.Rows != 1000 {
			t.Errorf("listed: %+v", d)
		}
	})
	// Without --check nothing of this is seen, and nothing pretends to be.
	if sum := live(t, recorded, s.URL("", "wrong")); sum.Diverged != 0 || sum.Checked != nil || sum.DivergedResult != nil {
		t.Errorf("%+v", sum)
	}
}

// A recording without checksums cannot be compared, and the summary says so.
func TestLiveCheckWithoutRecordedChecksums(t *testing.T) {
	s := dbtest.Postgres15(t)
	r := tap(t, s.Addr)
	c := connect(t, r, s, "")
	if _, err := c.Exec(t.Context(), "select 1"); err != nil {
		t.Fatal(err)
	}
	_ = c.Close(t.Context())
	sum, _ := diverging(t, without(t, r.trace()), s.URL("", ""))
	if *sum.Checked != 0 || sum.DivergedResult != nil || !strings.Contains(strings.Join(sum.Warnings, " "), "no checksums") {
		t.Errorf("%+v", sum)
	}
}

// without writes a trace again, without its checksums.
func without(t *testing.T, recorded []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	r := trace.NewReader(bytes.NewReader(recorded), "recording")
	w, err := trace.NewWriter(&out, *r.Header(), trace.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Each(func(e *trace.Event) error {
		id, err := w.InternEntry(e.Entry)
		if err != nil {
			return err
		}
		own := *e
		own.Shape = id
		return w.Event(&own)
	})
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// RP-24: a column more is another result, not a fault of the protocol; and where
// the server refuses a plan for it, that is an error like any other.
func TestLiveColumnAdded(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table t(a int); insert into t values (1), (2)", "a", "wider", "narrower")
	count(t, s, "a", "alter table t add column c int")
	count(t, s, "wider", "alter table t add column c int; alter table t add column d text")
	r := tap(t, s.Addr)
	c := connect(t, r, s, "a")
	ctx := t.Context()
	run := func(sql string, formats []int16) {
		t.Helper()
		_, err := c.PgConn().Prepare(ctx, sql, sql, nil)
		if err == nil {
			err = c.PgConn().ExecPrepared(ctx, sql, nil, nil, formats).Read().Err
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run("select * from t", nil)
	run("select a from t", nil)
	run("alter table t add column if not exists c int", nil)
	if err := c.PgConn().ExecPrepared(ctx, "select * from t", nil, nil, nil).Read().Err; err != nil {
		t.Fatal(err)
	}
	run("table t", []int16{0, 1}) // as some drivers do: a format for each column
	_ = c.Close(t.Context())
	recorded := r.trace()
	both(t, func(t *testing.T, how func(*Options)) {
		sum, found := diverging(t, recorded, s.URL("", "wider"), how)
		if fmt.Sprintf("%q", found) != `["select * from t" "select * from t" "1 table t"]` || sum.SessionsLost != 0 || sum.Errors["08P01"] != 1 {
			t.Errorf("%q %+v %v", found, sum, sum.Errors)
		}
		if !strings.Contains(strings.Join(sum.Warnings, " "), "another number of columns") {
			t.Errorf("nothing explains 08P01: %q", sum.Warnings)
		}
		sum, found = diverging(t, recorded, s.URL("", "narrower"), how)
		if fmt.Sprintf("%q", found) != `["select * from t" "1 select * from t"]` || sum.Errors["0A000"] != 1 || sum.SessionsLost != 0 {
			t.Errorf("%q %+v %v", found, sum, sum.Errors)
		}
		count(t, s, "narrower", "alter table t drop column c")
	})
}
