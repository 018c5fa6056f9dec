package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// PG-16: a storm of cancel requests reaches whom it is meant for: sessions that run
// without a time limit are never hit, those with one are.
func TestCancelStorm(t *testing.T) {
	server := dbtest.Postgres15(t)
	rec := newRecording(t)
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	url := server.URLVia(proxy, "", "") + "?sslmode=disable"

	ctx, over := context.WithCancel(context.Background())
	var bystanders, victims sync.WaitGroup
	for range 4 {
		bystanders.Go(func() { bystand(t, ctx, url) })
	}
	const storms, cancels = 20, 10
	for range storms {
		victims.Go(func() {
			for range cancels / 2 {
				beCancelled(t, url)
				timeOut(t, url)
			}
		})
	}
	victims.Wait()
	over()
	bystanders.Wait()
	stop()
	events, gaps := rec.events()
	checkCancels(t, events, gaps, storms*cancels)
}

// bystand runs statements that nobody cancels.
func bystand(t *testing.T, ctx context.Context, url string) {
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close(context.Background())
	for ctx.Err() == nil {
		if _, err := c.Exec(context.Background(), "select pg_sleep(0.003)"); err != nil {
			t.Errorf("a session that nobody cancelled: %v", err)
			return
		}
	}
}

// beCancelled runs a statement that is cancelled after 5 ms, and checks that its
// session goes on.
func beCancelled(t *testing.T, url string) {
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close(context.Background())
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for pause := 5 * time.Millisecond; ; pause = time.Second { // again if it came before the statement
			select {
			case <-ended:
				return
			case <-time.After(pause):
			}
			if err := c.PgConn().CancelRequest(context.Background()); err != nil {
				t.Errorf("the cancel request: %v", err)
			}
		}
	}()
	_, err = c.Exec(context.Background(), "select pg_sleep(30)")
	close(ended)
	<-stopped
	var said *pgconn.PgError
	if !errors.As(err, &said) || said.Code != "57014" {
		t.Errorf("a cancelled statement: %v", err)
	}
	if _, err := c.Exec(context.Background(), "select 1"); err != nil {
		t.Errorf("after a cancelled statement: %v", err)
	}
}

// timeOut gives up on a statement after 5 ms, as applications do: the driver
// sends a cancel request and leaves.
func timeOut(t *testing.T, url string) {
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err = c.Exec(ctx, "select pg_sleep(30)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a statement that took too long: %v", err)
	}
	<-c.PgConn().CleanupDone()
}

// checkCancels: each cancel request is a session with one event, and names an
// event that a cancel did end.
func checkCancels(t *testing.T, events map[uint64][]trace.Event, gaps []trace.Gap, want int) {
	t.Helper()
	if len(gaps) > 0 {
		t.Errorf("gaps: %v", gaps)
	}
	hit := map[string]int{}
	cancelled := 0
	for _, session := range events {
		for _, e := range session {
			if e.Entry.Op == trace.OpCancel {
				if len(session) != 1 || e.Ordinal != 0 || e.Entry.Text != "cancel" || len(e.Values) != 16 {
					t.Errorf("a cancel request is recorded as %+v", e)
				}
				hit[fmt.Sprint(binary.LittleEndian.Uint64(e.Values), binary.LittleEndian.Uint64(e.Values[8:]))]++
			}
			if e.Reason == "57014" {
				cancelled++
			}
		}
	}
	for id, session := range events {
		for _, e := range session {
			if e.Reason == "57014" && hit[fmt.Sprint(id, e.Ordinal)] == 0 {
				t.Errorf("session %x: event %d was cancelled by no request", id, e.Ordinal)
			}
		}
	}
	if cancelled < want/2 || len(hit) < want*9/10 {
		t.Errorf("%d statements cancelled by %d requests, of %d", cancelled, len(hit), want)
	}
}
