package capture

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// through starts a proxy in front of addr and returns its address.
func through(t testing.TB, addr string, o Options) (proxy string, stop func()) {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Target = "postgres://" + addr
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, _ net.Addr) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 2 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		if err := New(l, o).Serve(ctx); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); served.Wait() })
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// What a client reads through the proxy is what it reads without, however its
// bytes and the server's are cut into pieces; and what it sent is in the trace.
func TestDifferential(t *testing.T) {
	server := dbtest.Postgres15(t)
	t.Run("preferred", func(t *testing.T) { differ(t, server, Options{}, !testing.Short()) })
	t.Run("portable", func(t *testing.T) { differ(t, server, Options{Portable: true}, !testing.Short()) })
}

// The same with the newest server, whose protocol is 3.2.
func TestDifferential18(t *testing.T) {
	differ(t, dbtest.Postgres18(t), Options{}, false)
}

// differ plays all scripts directly and through a proxy; slowly: also byte by byte.
func differ(t *testing.T, server *dbtest.Server, o Options, slowly bool) {
	rec := newRecording(t)
	o.Recorder = rec.Recorder
	proxy, stop := through(t, server.Addr, o)
	sent := map[string]int{}
	for _, s := range slices.Concat(scripts, protocolScripts) {
		t.Run(s.name, func(t *testing.T) {
			direct := s.play(t, server.Addr, nil)
			sameReplies(t, direct, s.play(t, proxy, nil))
			sent[s.stream()]++
			if slowly && s.size() < 5_000 {
				sameReplies(t, direct, s.play(t, proxy, byteByByte))
				sent[s.stream()]++
			}
		})
	}
	stop()
	events, gaps := rec.events()
	for _, g := range gaps {
		// The protocol that cannot be understood ends the recording of its session.
		if g.First != 2 || g.Last != 2 || !strings.HasPrefix(g.Why, "unreadable: ") {
			t.Errorf("gap: %+v", g)
		}
		sent[unreadable]--
		delete(events, g.Session)
	}
	for _, session := range events {
		sent[streamOf(t, session)]--
	}
	for stream, n := range sent {
		if n != 0 {
			t.Errorf("%d sessions more were sent than recorded with the bytes %s", n, brief([]byte(stream)))
		}
	}
}

const unreadable = "what cannot be understood"

// stream is all the client sends after its start packet, but for what is too
// large to be kept.
func (s script) stream() string {
	if s.name == "unknown-message" {
		return unreadable
	}
	var b []byte
	for _, step := range s.steps {
		if len(step.send) < pg.DefaultLimit {
			b = append(b, step.send...)
		}
	}
	return string(b)
}

// streamOf is what a session's events say was sent.
func streamOf(t *testing.T, events []trace.Event) string {
	t.Helper()
	var b []byte
	for i := range events {
		e := &events[i]
		if e.Ordinal != uint64(i) || !e.HasReply {
			t.Errorf("session %x: event %d stands where %d should, with a reply: %v", e.Session, e.Ordinal, i, e.HasReply)
		}
		if e.OverLimit {
			continue
		}
		var err error
		if b, err = pg.Join(b, e.Entry.Shape, e.Sizes, e.Values); err != nil {
			t.Fatalf("event %d: %v", e.Ordinal, err)
		}
	}
	return string(b)
}
