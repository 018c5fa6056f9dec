package e2e

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/wire/pg"
)

var (
	startPacket = []byte("\x00\x00\x00\x17\x00\x03\x00\x00user\x00postgres\x00\x00")
	emptyQuery  = []byte("Q\x00\x00\x00\x05\x00")
	loggedIn    = []byte("R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I")
	nothing     = []byte("I\x00\x00\x00\x04Z\x00\x00\x00\x05I") // EmptyQueryResponse, ReadyForQuery
)

// backend is a server that lets everybody in, and to whom every request is empty.
func backend(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	serve := func(c net.Conn) {
		defer c.Close()
		if _, _, err := pg.ReadStartup(c); err != nil {
			return
		}
		_, _ = c.Write(loggedIn)
		request := make([]byte, len(emptyQuery))
		for {
			if _, err := io.ReadFull(c, request); err != nil {
				return
			}
			_, _ = c.Write(nothing)
		}
	}
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serve(c) })
		}
	})
	return l.Addr().String()
}

// enter is a session that has logged in.
func enter(addr string) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", addr, 20*time.Second)
	if err != nil {
		return nil, err
	}
	return c, exchange(c, startPacket, len(loggedIn))
}

func exchange(c net.Conn, request []byte, reply int) error {
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Write(request); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, reply))
	return err
}

// descriptors is how many files this process may open, after raising that.
func descriptors(t *testing.T, wanted uint64) int {
	t.Helper()
	var l unix.Rlimit
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: wanted, Max: wanted})
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	return int(l.Cur)
}

// RP-17: ten thousand sessions that do nothing cost little memory, and do not
// keep a storm of short ones from passing.
func TestTenThousandIdleSessionsAndAStorm(t *testing.T) {
	idle := min(short(10_000, 1000), (descriptors(t, 65536)-1000)/2)
	storm := short(3000, 500)
	c := capture(t, "postgres://postgres@"+backend(t)+"/postgres", filepath.Join(t.TempDir(), "idle.trace"))
	before := dbtest.RSS(c.Pid)
	sessions := make([]net.Conn, idle)
	defer func() {
		for _, s := range sessions {
			if s != nil {
				_ = s.Close()
			}
		}
	}()
	crowd(t, idle, func(i int) (err error) {
		sessions[i], err = enter(c.Addr)
		return err
	})
	each := (dbtest.RSS(c.Pid) - before) / int64(idle)
	t.Logf("%d idle sessions: %d bytes of memory each", idle, each)
	if each > 32<<10 {
		t.Errorf("%d bytes of memory for each of %d idle sessions", each, idle)
	}
	begun := time.Now()
	crowd(t, storm, func(int) error {
		s, err := enter(c.Addr)
		if err != nil {
			return err
		}
		defer s.Close()
		return exchange(s, emptyQuery, len(nothing))
	})
	t.Logf("%d sessions of one statement beside them in %s", storm, time.Since(begun).Round(time.Millisecond))
	crowd(t, idle, func(i int) error { return exchange(sessions[i], emptyQuery, len(nothing)) })
	if got := stop(t, c); got.Sessions != int64(idle+storm) || got.Statements != int64(idle+storm) {
		t.Errorf("recorded %d sessions and %d statements of %d", got.Sessions, got.Statements, idle+storm)
	}
}

// crowd does n things, fifty at a time.
func crowd(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range 50 {
		all.Go(func() {
			for i := worker; i < n; i += 50 {
				if err := do(i); err != nil {
					t.Errorf("session %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
