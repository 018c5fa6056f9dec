package replay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
)

// echo serves connections that answer what they are sent.
func echo(t testing.TB) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				_, _ = io.Copy(c, c)
				c.Close()
			})
		}
	})
	t.Cleanup(func() { l.Close(); open.Wait() })
	return l.Addr()
}

// lines runs a test on both kinds of line, connected to an address.
func lines(t *testing.T, addr func(*testing.T) net.Addr, test func(t *testing.T, l line, c clock.Clock)) {
	t.Run("thread", func(t *testing.T) {
		l := newThreadLine(clock.NewTimers())
		conn := dial(t, addr(t))
		l.use(conn)
		defer l.Close()
		test(t, l, l.clock)
	})
	t.Run("loop", func(t *testing.T) {
		c := clock.NewTimers()
		lp, err := newLoop(c, true)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("no loops on this system")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer lp.close()
		f, ok := lp.adopt(dial(t, addr(t)))
		if !ok {
			t.Fatal("the loop does not take a TCP connection")
		}
		done := make(chan struct{})
		f.start(func() {
			defer close(done)
			test(t, f, c)
			f.Close()
		})
		<-done
	})
}

func dial(t *testing.T, addr net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func echoAddr(t *testing.T) net.Addr { return echo(t) }

func TestExchange(t *testing.T) {
	lines(t, echoAddr, func(t *testing.T, l line, _ clock.Clock) {
		in := make([]byte, 100)
		for n := 1; n <= 100; n++ {
			out := bytes.Repeat([]byte{byte(n)}, n)
			got, err := l.Exchange(out, in, 0)
			for err == nil && got < n {
				var more int
				more, err = l.Read(in[got:], 0)
				got += more
			}
			if err != nil || !bytes.Equal(in[:got], out) {
				t.Errorf("%d bytes: got %q, %v", n, in[:got], err)
				return
			}
		}
	})
}

// A poke may come at any moment. What a session was about to write must be
// written nevertheless, and what comes back read.
func TestPokes(t *testing.T) {
	lines(t, echoAddr, func(t *testing.T, l line, c clock.Clock) {
		in := make([]byte, 100)
		l.poke()
		n, err := l.Exchange([]byte("hello"), in, 0)
		if n == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %d bytes, %v", n, err)
		}
		for n < 5 {
			more, err := l.Read(in[n:], 0)
			if n += more; err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
				return
			}
		}
		if string(in[:n]) != "hello" {
			t.Errorf("got %q", in[:n])
		}
		time.AfterFunc(5*ms, l.poke)
		if _, err := l.Read(in, 0); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a poke did not end the read: %v", err)
		}
		time.AfterFunc(5*ms, l.poke)
		l.Pause(0)
	})
}

func TestWaitsEnd(t *testing.T) {
	lines(t, echoAddr, func(t *testing.T, l line, c clock.Clock) {
		until := c.Now() + int64(5*ms)
		for c.Now() < until {
			l.Pause(until)
		}
		until = c.Now() + int64(5*ms)
		for c.Now() < until {
			if _, err := l.Read(make([]byte, 1), until); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
				return
			}
		}
		if late := c.Now() - until; late > int64(time.Second) {
			t.Errorf("%v late", time.Duration(late))
		}
	})
}

// More than the sockets' buffers hold comes back while it is written.
func TestDuplex(t *testing.T) {
	lines(t, echoAddr, func(t *testing.T, l line, _ clock.Clock) {
		out := bytes.Repeat([]byte("0123456789abcdef"), 1<<19)
		var got bytes.Buffer
		in := make([]byte, 64<<10)
		err := l.Duplex(out, in, func() int64 { return 0 }, func(b []byte, err error) bool {
			got.Write(b)
			return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
		})
		for err == nil && got.Len() < len(out) {
			var n int
			if n, err = l.Read(in, 0); errors.Is(err, os.ErrDeadlineExceeded) {
				err = nil
			}
			got.Write(in[:n])
		}
		if err != nil || !bytes.Equal(got.Bytes(), out) {
			t.Errorf("%v, equal: %v", err, bytes.Equal(got.Bytes(), out))
		}
	})
}

// silent accepts connections and does nothing with them.
func silent(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr()
}

// A server that takes nothing does not hold a session beyond its limit.
func TestWriteEndsAtTheLimit(t *testing.T) {
	lines(t, silent, func(t *testing.T, l line, c clock.Clock) {
		time.AfterFunc(10*ms, func() { l.limit(c.Now() + int64(20*ms)) })
		if _, err := l.Write(make([]byte, 64<<20)); !os.IsTimeout(err) {
			t.Errorf("got %v", err)
		}
	})
}

// leaving accepts one connection and closes it.
func leaving(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("bye"))
			c.Close()
		}
		l.Close()
	}()
	return l.Addr()
}

func TestSomebodyWhoLeft(t *testing.T) {
	lines(t, leaving, func(t *testing.T, l line, _ clock.Clock) {
		in := make([]byte, 100)
		n, err := 0, error(nil)
		for err == nil {
			var more int
			more, err = l.Read(in[n:], 0)
			n += more
		}
		if string(in[:n]) != "bye" || !errors.Is(err, io.EOF) {
			t.Errorf("got %q, %v", in[:n], err)
		}
		time.Sleep(5 * ms)
		_, err = l.Exchange([]byte("x"), in, 0)
		if err == nil {
			_, err = l.Exchange([]byte("x"), in, 0)
		}
		if err == nil {
			t.Error("a closed connection answers")
		}
	})
}
