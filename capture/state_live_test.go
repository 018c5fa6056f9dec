package capture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// A piece of a trace that begins in the middle says what its sessions have
// prepared, and what they execute is resolved as before.
func TestStateAfterRestart(t *testing.T) {
	server := dbtest.Postgres15(t)
	rec := newRecording(t, func(o *RecorderOptions) { o.Flush = 50 * time.Millisecond })
	var full atomic.Bool
	rec.out.fail = func() error {
		if full.Load() {
			return &diskError{}
		}
		return nil
	}
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	c := login(t, proxy)
	c.ask("set application_name to 'me'")
	c.send(msgs(parse("dropped", "select 'no more'"), parse("kept", "select $1::int + 1"), syncMsg))
	c.wait("Z")
	c.send(msgs(parse("", "select 'unnamed'"), closing('S', "dropped"), syncMsg))
	c.wait("Z")
	c.ask("prepare by_sql as select 'by sql'")
	c.ask("begin; set search_path to a; set application_name to 'you'; commit; begin; reset search_path")
	c.ask("rollback; begin; set work_mem to '1MB'; commit; set app.token to 'x'")
	time.Sleep(200 * time.Millisecond)
	full.Store(true)
	c.ask("select 'lost'")
	waitFor(t, func() bool { return rec.Recorded().Broken })
	full.Store(false)
	waitFor(t, func() bool { return !rec.Recorded().Broken })
	for _, name := range []string{"kept", "by_sql"} {
		values := []string{"1"}
		if name == "by_sql" {
			values = nil
		}
		c.send(msgs(bind("", name, values...), execute(""), syncMsg))
		c.wait("Z")
	}
	c.send(msgs(terminate))
	c.wait("$")
	stop()
	events, gaps := rec.events()
	if len(gaps) != 1 || gaps[0].First != gaps[0].Last || len(events) != 1 {
		t.Fatalf("gaps %+v in %d sessions", gaps, len(events))
	}
	checkResolved(t, events)
	checkState(t, lastState(t, rec))
}

func checkResolved(t *testing.T, events map[uint64][]trace.Event) {
	t.Helper()
	var texts []string
	for _, session := range events {
		for _, e := range session {
			if e.Entry.Op == trace.OpExecute {
				texts = append(texts, e.Entry.SQL())
			}
		}
	}
	if got := strings.Join(texts, " | "); !strings.Contains(got, "$1::int") || !strings.Contains(strings.ToLower(got), "by_sql as") {
		t.Errorf("executed: %s", got)
	}
}

// lastState is the last state record that is not a session's first.
func lastState(t *testing.T, rec *recording) (last trace.State) {
	each(t, rec, func(s *trace.State) {
		if s.Ordinal > 0 {
			last = *s
		}
	})
	return last
}

// each goes through the state records of a recording that has ended.
func each(t *testing.T, rec *recording, do func(*trace.State)) {
	t.Helper()
	in := trace.NewReader(bytes.NewReader(rec.out.b.Bytes()), "memory")
	for {
		var b trace.Batch
		err := in.Next(&b)
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.States {
			do(&b.States[i])
		}
	}
}

func checkState(t *testing.T, s trace.State) {
	t.Helper()
	var statements []string
	for _, p := range s.Statements {
		statements = append(statements, fmt.Sprintf("%s@%d:%q", p.Name, p.Ordinal, p.Message))
	}
	got := fmt.Sprintf("%d %s %s %v %q %q %s %s", s.Ordinal, s.User, s.Database, s.Settings, s.Sets, s.Uncommitted, s.Transaction, strings.Join(statements, " "))
	want := `10 postgres postgres map[] [" set search_path to a" " set application_name to 'you'" " set work_mem to '1MB'"] [] idle kept@3:"P\x00\x00\x00\x1ekept\x00select $1::int + 1\x00\x00\x00" by_sql@6:"Q\x00\x00\x00&prepare by_sql as select 'by sql'\x00"`
	if got != want {
		t.Errorf("state\n got %s\nwant %s", got, want)
	}
}

// Neither a password nor a statement that sets one goes into the trace.
func TestNoSecrets(t *testing.T) {
	server := dbtest.Run(t, dbtest.Options{Password: "hunter1-of-the-login"})
	rec := newRecording(t, func(o *RecorderOptions) { o.EventBytes = 4096 })
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	c, err := pgx.Connect(context.Background(), server.URLVia(proxy, "", "")+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	secret := []string{
		"create user u1 password 'hunter2'",
		"alter user u1 with encrypted password 'hunter3'",
		"AlTeR/* */RoLe u1 PASSWORD\n$tag$hunter4$tag$",
		"select 1; alter user u1 password E'hunter5'",
		"alter user u1 password '" + strings.Repeat("hunter6", 1000) + "'",
		"do $$ begin execute 'alter user u1 password ''hunter7'''; end $$",
	}
	for i, sql := range secret {
		if _, err := c.PgConn().Exec(context.Background(), sql).ReadAll(); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if _, err := c.PgConn().Prepare(context.Background(), fmt.Sprint("s", i), strings.TrimPrefix(sql, "select 1; "), nil); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	r := c.PgConn().ExecPrepared(context.Background(), "s1", nil, nil, nil).Read()
	if r.Err != nil {
		t.Error(r.Err)
	}
	if _, err := c.Exec(context.Background(), "select $1::text", "visible"); err != nil {
		t.Error(err)
	}
	_ = c.Close(context.Background())
	stop()
	events, _ := rec.events()
	found, redacted := allText(events), 0
	for _, session := range events {
		for _, e := range session {
			for _, n := range e.Sizes {
				if n == trace.SizeRedacted {
					redacted++
				}
			}
		}
	}
	in := trace.NewReader(bytes.NewReader(rec.out.b.Bytes()), "memory")
	for {
		var b trace.Batch
		if in.Next(&b) != nil {
			break
		}
		for _, s := range b.States {
			for _, p := range s.Statements {
				found += string(p.Message)
			}
		}
	}
	if i := strings.Index(found, "hunter"); i >= 0 {
		t.Errorf("found %q", found[max(0, i-80):i+20])
	}
	if !strings.Contains(found, "visible") || redacted < len(secret) {
		t.Errorf("%d values redacted; the rest: %q", redacted, found)
	}
}

// allText is everything a trace says of its events.
func allText(events map[uint64][]trace.Event) string {
	var b strings.Builder
	for _, session := range events {
		for _, e := range session {
			b.WriteString(e.Entry.Text)
			b.Write(e.Entry.Shape)
			b.Write(e.Values)
			b.WriteString(e.Reason)
		}
	}
	return b.String()
}
