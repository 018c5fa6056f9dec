package replay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echo serves connections that answer what they are sent.
func echo(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr()
}

// wrapped hides what a connection is.
type wrapped struct{ net.Conn }

func links(t *testing.T, test func(t *testing.T, l link)) {
	addr := echo(t)
	for _, raw := range []bool{true, false} {
		t.Run(map[bool]string{true: "raw", false: "plain"}[raw], func(t *testing.T) {
			c, err := net.Dial("tcp", addr.String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if !raw {
				c = wrapped{c}
			}
			test(t, newLink(c))
		})
	}
}

func TestExchange(t *testing.T) {
	links(t, func(t *testing.T, l link) {
		in := make([]byte, 100)
		for n := 1; n < 100; n++ {
			out := bytes.Repeat([]byte{byte(n)}, n)
			got, err := l.Exchange(out, in)
			for err == nil && got < n {
				var more int
				more, err = l.Read(in[got:])
				got += more
			}
			if err != nil || !bytes.Equal(in[:got], out) {
				t.Fatalf("%d bytes: got %q, %v", n, in[:got], err)
			}
		}
	})
}

// A session is poked by a deadline in the past, at any moment. What it was
// about to write must be written nevertheless.
func TestExchangeWritesAfterAPoke(t *testing.T) {
	links(t, func(t *testing.T, l link) {
		if err := l.SetReadDeadline(past); err != nil {
			t.Fatal(err)
		}
		in := make([]byte, 100)
		if n, err := l.Exchange([]byte("hello"), in); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("got %d bytes, %v", n, err)
		}
		if err := l.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := io.ReadAtLeast(l, in, 5); err != nil || string(in[:n]) != "hello" {
			t.Fatalf("got %q, %v", in[:n], err)
		}
	})
}

func TestExchangeThatIsPokedWhileItWaits(t *testing.T) {
	links(t, func(t *testing.T, l link) {
		time.AfterFunc(20*time.Millisecond, func() { _ = l.SetReadDeadline(past) })
		in := make([]byte, 100)
		n, err := l.Exchange([]byte("x"), in)
		if n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if _, err := l.Read(in); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

// More than the sockets' buffers hold: the echo comes while the rest is written.
func TestExchangeOfMuch(t *testing.T) {
	links(t, func(t *testing.T, l link) {
		out := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		var got bytes.Buffer
		done := make(chan error, 1)
		go func() { // as writeReading does
			_, err := l.Write(out)
			done <- err
		}()
		in := make([]byte, 64<<10)
		for got.Len() < len(out) {
			n, err := l.Read(in)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(in[:n])
		}
		if err := <-done; err != nil || !bytes.Equal(got.Bytes(), out) {
			t.Fatalf("%v, equal: %v", err, bytes.Equal(got.Bytes(), out))
		}
	})
}

func TestExchangeWithSomebodyWhoLeft(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	k := newLink(c)
	in := make([]byte, 10)
	if n, err := k.Exchange([]byte("x"), in); err == nil {
		t.Errorf("got %d bytes from a closed connection", n)
	}
	if n, err := k.Exchange([]byte("x"), in); err == nil {
		t.Errorf("got %d bytes from a closed connection", n)
	}
}
