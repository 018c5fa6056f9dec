package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// PG-16: forty applications give up on statements after 5 ms, and keep their
// connections. Every statement has a tag of its own, so that an answer of
// another one is seen; and nothing is cancelled that did not ask for it, nothing
// is left open. RETRACE_STORM=1000 makes it as long as it takes to be sure:
// each cancel request is a process of the server.
func TestImpatientClients(t *testing.T) {
	clients, statements := 40, 30
	if n, err := strconv.Atoi(os.Getenv("RETRACE_STORM")); err == nil {
		statements = n
	}
	server := dbtest.Postgres15(t)
	rec := newRecording(t)
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	url := server.URLVia(proxy, "", "") + "?sslmode=disable"
	login(t, proxy).send(msgs(terminate)) // all that lasts is begun
	waitFor(t, func() bool { return server.Psql(t, others) == "0" })
	files, routines := openFiles(t), runtime.NumGoroutine()

	ctx, over := context.WithCancel(t.Context())
	var bystanders, storm sync.WaitGroup
	bystanders.Go(func() { bystand(t, ctx, url) })
	var cancelled atomic.Int64
	for n := range clients {
		storm.Go(func() { cancelled.Add(int64(impatient(t, url, n, statements))) })
	}
	storm.Wait()
	over()
	bystanders.Wait()
	if got := cancelled.Load(); got < int64(clients*statements/10) {
		t.Errorf("%d statements were cancelled of %d: no storm", got, clients*statements)
	}
	settled := func() bool { return openFiles(t) <= files && runtime.NumGoroutine() <= routines }
	for end := time.Now().Add(30 * time.Second); !settled(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d files and %d goroutines before, %d and %d after", files, routines, openFiles(t), runtime.NumGoroutine())
		}
	}
	if n := server.Psql(t, others); n != "0" {
		t.Errorf("%s sessions are left on the server", n)
	}
	stop()
	events, gaps := rec.events()
	if len(gaps) > 0 {
		t.Errorf("gaps: %v", gaps)
	}
	checkAims(t, events, cancelled.Load())
}

// others counts the sessions on a server.
const others = "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"

// impatient runs statements that may take 5 ms, of which every third would take
// far longer, and returns how many were cancelled.
func impatient(t *testing.T, url string, client, statements int) (cancelled int) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Error(err)
		return 0
	}
	w := &canceller{}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler { w.conn = c; return w }
	c, err := pgx.ConnectConfig(context.Background(), config)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer c.Close(context.Background())
	for i := range statements {
		seconds := 0
		if i%3 == 2 {
			seconds = 60
		}
		tag := fmt.Sprintf("client %d statement %d", client, i)
		ctx, leave := context.WithTimeout(context.Background(), 5*time.Millisecond)
		var got string
		err := c.QueryRow(ctx, fmt.Sprintf("select '%s' from pg_sleep(%d)", tag, seconds)).Scan(&got)
		leave()
		var said *pgconn.PgError
		switch {
		case err == nil && got != tag:
			t.Errorf("%s was answered %q", tag, got)
		// A request that came late may hit a later statement of its own session,
		// as it may without a proxy; it cannot hit two.
		case errors.As(err, &said) && said.Code == "57014" && cancelled < w.requests:
			cancelled++
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("%s, after %d requests and %d cancelled: %v", tag, w.requests, cancelled, err)
			return cancelled
		}
	}
	return cancelled
}

// canceller asks for a statement to be cancelled until it ends, and keeps its
// connection.
type canceller struct {
	conn          *pgconn.PgConn
	requests      int
	ended, asking chan struct{}
}

func (w *canceller) HandleCancel(context.Context) {
	ended, asking := make(chan struct{}), make(chan struct{})
	w.ended, w.asking = ended, asking
	go func() {
		defer close(asking)
		for {
			w.requests++
			_ = w.conn.CancelRequest(context.Background())
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond): // it came before the statement
			}
		}
	}()
}

func (w *canceller) HandleUnwatchAfterCancel() {
	close(w.ended)
	<-w.asking
}

// checkAims: every cancel request is recorded with a session that was there, and
// no session has more cancelled statements than requests.
func checkAims(t *testing.T, events map[uint64][]trace.Event, cancelled int64) {
	t.Helper()
	aims, hits, all := map[uint64]int{}, map[uint64]int{}, int64(0)
	for id, session := range events {
		for _, e := range session {
			if e.Entry.Op == trace.OpCancel {
				aims[binary.LittleEndian.Uint64(e.Values)]++
			}
			if e.Reason == "57014" {
				hits[id]++
				all++
			}
		}
	}
	for id, n := range aims {
		if events[id] == nil {
			t.Errorf("%d cancel requests name session %x, which is none", n, id)
		}
	}
	for id, n := range hits {
		if n > aims[id] {
			t.Errorf("session %x: %d statements cancelled by %d requests", id, n, aims[id])
		}
	}
	if all != cancelled {
		t.Errorf("%d statements are recorded as cancelled, their clients count %d", all, cancelled)
	}
}

// openFiles counts what this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0 // not Linux
	}
	return len(all)
}
