package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// captured is a capture that runs in this process.
type captured struct {
	t         *testing.T
	addr      string
	file      string
	end       func()
	code      int
	out, talk string
}

func startCapture(t *testing.T, target string, args ...string) *captured {
	t.Helper()
	c := &captured{t: t, addr: freeAddr(t), file: filepath.Join(t.TempDir(), "c.trace")}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	args = append([]string{"capture", "--listen", c.addr, "--target", target, "-w", c.file, "-o", "json"}, args...)
	go func() {
		defer close(done)
		c.code, c.out, c.talk = ranWith(ctx, nil, args...)
	}()
	c.end = func() { cancel(); <-done }
	t.Cleanup(c.end)
	limited, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	if err := dbtest.WaitListening(limited, c.addr); err != nil {
		t.Fatalf("%v\n%s", err, c.talk)
	}
	return c
}

func freeAddr(t *testing.T) string {
	t.Helper()
	port, err := dbtest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func (c *captured) connect(s *dbtest.Server) *pgx.Conn {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), s.URLVia(c.addr, "", ""))
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

func execute(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// order posts to the control endpoint, or gets if the path is /status.
func order(t *testing.T, addr, path string) controlStatus {
	t.Helper()
	method := http.MethodPost
	if path == "/status" {
		method = http.MethodGet
	}
	q, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	var s controlStatus
	if err != nil || a.StatusCode != http.StatusOK || json.Unmarshal(b, &s) != nil {
		t.Fatalf("%s: %s %v %s", path, a.Status, err, b)
	}
	return s
}

// The operator switches recording on and off while an application is connected.
func TestCaptureSwitched(t *testing.T) {
	s := dbtest.Postgres15(t)
	control := freeAddr(t)
	c := startCapture(t, s.URL("", ""), "--paused", "--control", control)
	app := c.connect(s)
	execute(t, app, "select $1::int as is_before", 1)
	if st := order(t, control, "/status"); st.Recording || st.Changed != nil || st.Statements != 0 || st.Live != 1 {
		t.Errorf("at first: %+v", st)
	}
	if st := order(t, control, "/start"); !st.Recording || !*st.Changed {
		t.Errorf("started: %+v", st)
	}
	if st := order(t, control, "/start"); !st.Recording || *st.Changed {
		t.Errorf("started twice: %+v", st)
	}
	execute(t, app, "select $1::int as is_first", 2)
	order(t, control, "/stop")
	execute(t, app, "select $1::int as is_between", 3)
	signalled(t, control, syscall.SIGUSR1, true)
	execute(t, app, "select $1::int as is_second", 4)
	signalled(t, control, syscall.SIGUSR2, false)
	execute(t, app, "select $1::int as is_after", 5)
	_ = app.Close(t.Context())
	c.end()

	var report captureReport
	if err := json.Unmarshal([]byte(c.out), &report); err != nil || c.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", c.code, err, c.out, c.talk)
	}
	if !report.Complete || report.Missing != 0 || report.Statements != 2 || len(report.LeftOut) != 1 || report.LeftOut[0].Events < 3 {
		t.Errorf("%+v", report)
	}
	for _, want := range []string{"recording is on, by --control", "recording is off, by --control", "by SIGUSR1", "by SIGUSR2", "paused, to record into"} {
		if !strings.Contains(c.talk, want) {
			t.Errorf("%q was not said: %s", want, c.talk)
		}
	}
	checkSwitchedTrace(t, c.file)
}

func signalled(t *testing.T, control string, sig syscall.Signal, on bool) {
	t.Helper()
	if err := syscall.Kill(syscall.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); order(t, control, "/status").Recording != on; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%v did nothing", sig)
		}
	}
}

func checkSwitchedTrace(t *testing.T, file string) {
	t.Helper()
	v, err := trace.Verify(file)
	if err != nil || !v.OK() || v.Missing != 0 || v.LeftOut == 0 {
		t.Fatalf("%v %+v", err, v)
	}
	code, text, talk := ranWith(t.Context(), nil, "trace", "cat", file)
	if code != 0 || !strings.Contains(text, "is_first") || !strings.Contains(text, "is_second") {
		t.Errorf("exit %d: %s%s", code, text, talk)
	}
	for _, not := range []string{"is_before", "is_between", "is_after"} {
		if strings.Contains(text, not) {
			t.Errorf("%q was recorded:\n%s", not, text)
		}
	}
	_, text, _ = ranWith(t.Context(), nil, "trace", "info", file)
	if !strings.Contains(text, "\npaused ") || !strings.Contains(text, "gaps         none") {
		t.Errorf("info does not tell:\n%s", text)
	}
}

// RP-07, to the end: a replay of what was recorded in two pieces of one session
// has the settings and prepared statements of each, also those that came while
// recording was off.
func TestReplayOfARecordingInPieces(t *testing.T) {
	source, target := dbtest.Postgres15(t), dbtest.Postgres15(t)
	for _, s := range []*dbtest.Server{source, target} {
		s.Psql(t, "create schema a; create schema b; create table a.t (n int primary key, who text default 'a'); create table b.t (n int primary key, who text default 'b')")
	}
	control := freeAddr(t)
	c := startCapture(t, source.URL("", ""), "--paused", "--control", control)
	app := c.connect(source)
	prepare := func(name string) {
		if _, err := app.Prepare(t.Context(), name, "insert into t (n) values ($1)"); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, app, "set search_path = a")
	prepare("first")
	execute(t, app, "begin")
	order(t, control, "/start")
	execute(t, app, "select 1") // of a transaction that began before
	execute(t, app, "commit")
	for n := range 5 {
		execute(t, app, "first", n)
	}
	execute(t, app, "begin")
	execute(t, app, "first", 5)
	order(t, control, "/stop")
	execute(t, app, "first", 6)
	execute(t, app, "commit") // of a transaction that ends afterwards
	execute(t, app, "set search_path = b")
	prepare("second")
	execute(t, app, "deallocate first")
	order(t, control, "/start")
	for n := range 5 {
		execute(t, app, "second", n)
	}
	execute(t, app, "insert into t (n) values (10)")
	_ = app.Close(t.Context())
	c.end()
	if c.code != 0 {
		t.Fatalf("exit %d\n%s", c.code, c.talk)
	}
	for _, pace := range []string{"original", "closed"} {
		code, text, talk := ranWith(t.Context(), nil, "replay", c.file, "--target", target.URL("", ""), "--pace", pace)
		if code != 0 {
			t.Errorf("%s: exit %d\n%s%s", pace, code, text, talk)
		}
		const both = "select who, n from a.t union all select who, n from b.t order by 1, 2"
		if got, want := target.Psql(t, both), source.Psql(t, both); got != want {
			t.Errorf("%s: replayed to\n%s\nnot\n%s", pace, got, want)
		}
		target.Psql(t, "truncate a.t, b.t")
	}
}
