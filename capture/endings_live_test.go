package capture

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// client is a raw session through the proxy.
type client struct {
	t testing.TB
	*player
}

func login(t testing.TB, addr string) *client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &client{t, &player{conn: conn}}
	c.send(script{}.startPacket())
	c.wait("Z")
	return c
}

func (c *client) send(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) wait(kinds string) {
	c.t.Helper()
	if err := c.await(kinds); err != nil {
		c.t.Fatalf("waiting for %q: %v", kinds, err)
	}
}

func (c *client) ask(sql string) {
	c.t.Helper()
	c.send(msgs(query(sql)))
	c.wait("Z")
}

// copyIn leaves the session in the middle of its data.
func (c *client) copyIn() {
	c.t.Helper()
	c.ask("create temp table ct (n int)")
	c.send(msgs(query("copy ct from stdin")))
	c.wait("G")
	c.send(raw('d', "1\n"))
	c.send(raw('d', "2\n"))
}

// ends are the ways a session can end, and what its last event says of it.
var ends = []struct {
	name   string
	end    func(t *testing.T, c *client, server *dbtest.Server)
	reason string
	last   trace.Status // of the event before the end
}{
	{"terminate", func(t *testing.T, c *client, _ *dbtest.Server) {
		c.send(msgs(terminate))
		c.wait("$")
	}, "", trace.OK},
	{"close", func(t *testing.T, c *client, _ *dbtest.Server) { _ = c.conn.Close() }, clientGone, trace.OK},
	{"reset in mid-result", func(t *testing.T, c *client, _ *dbtest.Server) {
		c.send(msgs(query("select repeat('x', 1000) from generate_series(1, 100000)")))
		c.wait("DDD")
		_ = c.conn.(*net.TCPConn).SetLinger(0)
		_ = c.conn.Close()
	}, clientGone, trace.Lost},
	{"half-close", func(t *testing.T, c *client, _ *dbtest.Server) {
		c.send(msgs(query("select pg_sleep(0.2)")))
		_ = c.conn.(*net.TCPConn).CloseWrite()
		c.wait("Z$")
	}, clientGone, trace.OK},
	{"terminated by the server while idle", func(t *testing.T, c *client, s *dbtest.Server) {
		s.Psql(t, "select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle' and backend_type = 'client backend'")
		c.wait("E$")
	}, "57P01", trace.OK},
	{"terminated by the server in mid-statement", func(t *testing.T, c *client, s *dbtest.Server) {
		c.send(msgs(query("select pg_sleep(30)")))
		waitFor(t, func() bool {
			return s.Psql(t, "select count(*) from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'") == "1"
		})
		s.Psql(t, "select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'")
		c.wait("E$")
	}, "57P01", trace.Error},
	{"close in the middle of COPY in", func(t *testing.T, c *client, _ *dbtest.Server) {
		c.copyIn()
		_ = c.conn.Close()
	}, "08P01", trace.OK}, // the server says so, to nobody
	{"half-close in the middle of COPY in", func(t *testing.T, c *client, _ *dbtest.Server) {
		c.copyIn()
		_ = c.conn.(*net.TCPConn).CloseWrite()
		c.wait("$")
	}, "08P01", trace.OK}, // the server says so, to nobody
	{"terminated by the server in the middle of COPY in", func(t *testing.T, c *client, s *dbtest.Server) {
		c.copyIn()
		s.Psql(t, "select pg_terminate_backend(pid) from pg_stat_activity where query = 'copy ct from stdin'")
		c.wait("$")
	}, "57P01", trace.OK},
	{"reset in the middle of COPY out", func(t *testing.T, c *client, _ *dbtest.Server) {
		c.send(msgs(query("copy (select repeat('x', 1000) from generate_series(1, 100000)) to stdout")))
		c.wait("Hddd")
		_ = c.conn.(*net.TCPConn).SetLinger(0)
		_ = c.conn.Close()
	}, clientGone, trace.Lost},
	{"garbage", func(t *testing.T, c *client, _ *dbtest.Server) {
		c.send([]byte("\x00\x00\x00\x00\x00\x00\x00"))
		c.wait("E$")
	}, serverGone, trace.OK},
}

// PG-25: however a session ends, both sides are let go, the proxy goes on, and the
// trace says how it ended.
func TestEndings(t *testing.T) {
	server := dbtest.Postgres15(t)
	for _, portable := range []bool{false, true} {
		for _, end := range ends {
			t.Run(map[bool]string{false: "preferred/", true: "portable/"}[portable]+end.name, func(t *testing.T) {
				rec := newRecording(t)
				proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder, Portable: portable, LingerTimeout: time.Second})
				c := login(t, proxy)
				c.ask("select 1")
				end.end(t, c, server)
				waitFor(t, func() bool {
					return server.Psql(t, "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()") == "0"
				})
				login(t, proxy).send(msgs(terminate)) // it still takes sessions
				stop()
				events, _ := rec.events()
				for _, session := range events {
					if len(session) > 2 {
						checkEnd(t, session, end.reason, end.last)
						return
					}
				}
				t.Fatalf("the session was not recorded: %v", events)
			})
		}
	}
}

func checkEnd(t *testing.T, session []trace.Event, reason string, last trace.Status) {
	t.Helper()
	e, before := session[len(session)-1], session[len(session)-2]
	if e.Entry.Op != trace.OpEnd || e.Reason != reason {
		t.Errorf("the last event is %c, reason %q; want %q", e.Entry.Op, e.Reason, reason)
	}
	if before.Status != last {
		t.Errorf("the event before is %v (%s), want %v", before.Status, before.Reason, last)
	}
}

// PG-25: a server that dies takes its sessions with it and nothing else.
func TestServerKilled(t *testing.T) {
	server := dbtest.Postgres15(t)
	rec := newRecording(t)
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	var all []*client
	for range 20 {
		c := login(t, proxy)
		c.send(msgs(query("select pg_sleep(30)")))
		all = append(all, c)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		_ = c.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.Copy(io.Discard, c.conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("a client of a dead server: %v", err)
		}
	}
	if got := exchangeAll(t, proxy, script{}.startPacket()); !strings.Contains(got, "08006") {
		t.Errorf("a new client got %q", got)
	}
	if err := server.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	login(t, proxy).ask("select 1")
	stop()
	events, gaps := rec.events()
	if len(events) != 22 || len(gaps) != 0 {
		t.Errorf("%d sessions and %d gaps recorded", len(events), len(gaps))
	}
}

// At the end idle sessions are let go at once, a transaction may come to its
// end, and what does not come to an end is cut.
func TestDrain(t *testing.T) {
	server := dbtest.Postgres15(t)
	for _, portable := range []bool{false, true} {
		t.Run(map[bool]string{false: "preferred", true: "portable"}[portable], func(t *testing.T) {
			rec := newRecording(t)
			proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder, Portable: portable, DrainTimeout: 2 * time.Second})
			idle, busy, endless := login(t, proxy), login(t, proxy), login(t, proxy)
			busy.ask("begin")
			busy.ask("select 'before'")
			endless.ask("begin")
			begun := time.Now()
			var stopped atomic.Bool
			go func() { stop(); stopped.Store(true) }()
			idle.wait("$")
			if took := time.Since(begun); took > time.Second {
				t.Errorf("an idle session was let go after %s", took)
			}
			busy.ask("select 'after'")
			time.Sleep(100 * time.Millisecond)
			busy.ask("commit")
			busy.wait("$")
			endless.wait("$")
			if took := time.Since(begun); took < 1900*time.Millisecond || took > 4*time.Second {
				t.Errorf("an open transaction was cut after %s", took)
			}
			waitFor(t, stopped.Load)
			events, gaps := rec.events()
			if len(events) != 3 || len(gaps) != 0 {
				t.Fatalf("%d sessions and %d gaps recorded", len(events), len(gaps))
			}
			for _, session := range events {
				if e := session[len(session)-1]; e.Entry.Op != trace.OpEnd || e.Reason != drained {
					t.Errorf("the last event is %c, reason %q", e.Entry.Op, e.Reason)
				}
			}
		})
	}
}

// A second signal ends what the first would wait for.
func TestDrainInAHurry(t *testing.T) {
	server := dbtest.Postgres15(t)
	hurry := make(chan struct{})
	proxy, stop := through(t, server.Addr, Options{DrainTimeout: time.Minute, Recorder: newRecording(t).Recorder, Hurry: hurry})
	c := login(t, proxy)
	c.ask("begin")
	time.AfterFunc(100*time.Millisecond, func() { close(hurry) })
	begun := time.Now()
	stop()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	c.wait("$")
}
