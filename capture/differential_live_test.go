package capture

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// through starts a proxy in front of addr and returns its address.
func through(t testing.TB, addr string, o Options) string {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Target = "postgres://" + addr
	if o.Dial == nil {
		o.Dial = func(ctx context.Context) (net.Conn, error) {
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
	stop := sync.OnceFunc(func() { cancel(); served.Wait() })
	t.Cleanup(stop)
	return l.Addr().String()
}

// What a client reads through the proxy is what it reads without, however its
// bytes and the server's are cut into pieces.
func TestDifferential(t *testing.T) {
	server := dbtest.Postgres15(t)
	for _, portable := range []bool{false, true} {
		rec := newRecording(t)
		proxy := through(t, server.Addr, Options{Portable: portable, Recorder: rec.Recorder})
		name := map[bool]string{false: "preferred", true: "portable"}[portable]
		for _, s := range scripts {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				direct := s.play(t, server.Addr, nil)
				sameReplies(t, direct, s.play(t, proxy, nil))
				if !testing.Short() && s.size() < 20_000 {
					sameReplies(t, direct, s.play(t, proxy, byteByByte))
				}
			})
		}
	}
}
