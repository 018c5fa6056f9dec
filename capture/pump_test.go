package capture

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// wire is one session in a pump, seen from its two ends.
type wire struct {
	t              *testing.T
	proxy          *Proxy
	pump           pump
	client, server *net.TCPConn // the outer ends
}

// eachPump runs a test on every pump this system has.
func eachPump(t *testing.T, test func(t *testing.T, w *wire)) {
	for _, portable := range []bool{true, false} {
		name := "preferred"
		if portable {
			name = "portable"
		}
		t.Run(name, func(t *testing.T) { test(t, newWire(t, Options{Portable: portable})) })
	}
}

func newWire(t *testing.T, o Options) *wire {
	t.Helper()
	o.complete()
	o.LingerTimeout = 300 * time.Millisecond
	p := &Proxy{options: o}
	pumps, err := p.startPumps()
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, proxy: p, pump: pumps[0]}
	inClient, outClient := tcpPair(t)
	inServer, outServer := tcpPair(t)
	w.client, w.server = outClient, outServer
	p.conns.Add(1)
	p.live.Add(1)
	p.running.Add(1)
	if !w.pump.add(&session{proxy: p, client: inClient, server: inServer, upstream: inServer.RemoteAddr()}) {
		t.Fatal("the pump refused plain TCP")
	}
	t.Cleanup(func() {
		for _, p := range pumps {
			p.stop()
		}
		p.running.Wait()
		for _, p := range pumps {
			p.wait()
		}
		_ = outClient.Close()
		_ = outServer.Close()
		if n := p.conns.Load() + p.live.Load(); n != 0 {
			t.Errorf("%d connections are still counted", n)
		}
	})
	return w
}

func tcpPair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return accepted.(*net.TCPConn), dialed.(*net.TCPConn)
}

// ended waits for the session to be over.
func (w *wire) ended() {
	w.t.Helper()
	done := make(chan struct{})
	go func() { w.proxy.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		w.t.Fatal("the session did not end")
	}
}

func (w *wire) write(c net.Conn, b string) {
	w.t.Helper()
	if _, err := c.Write([]byte(b)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) expect(c net.Conn, b string) {
	w.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	got := make([]byte, len(b))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != b {
		w.t.Fatalf("got %q (%v), want %q", got[:n], err, b)
	}
}

func (w *wire) expectEOF(c net.Conn) {
	w.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := c.Read(make([]byte, 1)); err != io.EOF {
		w.t.Fatalf("got %d bytes and %v, want the end", n, err)
	}
}

func TestPumpMovesBothWaysAtOnce(t *testing.T) {
	eachPump(t, func(t *testing.T, w *wire) {
		const size = 3 << 20
		up, down := noise(size, 1), noise(size, 2)
		var all sync.WaitGroup
		all.Go(func() { sendInPieces(w.client, up); _ = w.client.CloseWrite() })
		all.Go(func() { sendInPieces(w.server, down); _ = w.server.CloseWrite() })
		all.Go(func() { same(t, "up", w.server, up) })
		all.Go(func() { same(t, "down", w.client, down) })
		all.Wait()
		w.ended()
	})
}

func noise(n int, seed uint64) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed)})
	b := make([]byte, n)
	_, _ = r.Read(b)
	return b
}

func sendInPieces(c net.Conn, b []byte) {
	r := rand.New(rand.NewPCG(1, uint64(len(b))))
	for len(b) > 0 {
		n := min(len(b), 1+r.IntN(100_000))
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
		b = b[n:]
	}
}

func same(t *testing.T, what string, r io.Reader, want []byte) {
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes (%v) differ from the %d sent", what, len(got), err, len(want))
	}
}

// A client that has said all it wants still gets its answer.
func TestPumpHalfClose(t *testing.T) {
	eachPump(t, func(t *testing.T, w *wire) {
		w.write(w.client, "question")
		_ = w.client.CloseWrite()
		w.expect(w.server, "question")
		w.expectEOF(w.server)
		answer := noise(3<<20, 3)
		go func() { sendInPieces(w.server, answer); _ = w.server.Close() }()
		same(t, "answer", w.client, answer)
		w.ended()
	})
}

// When the server is gone the session ends even if the client does not notice.
func TestPumpServerGone(t *testing.T) {
	eachPump(t, func(t *testing.T, w *wire) {
		w.write(w.server, "last words")
		_ = w.server.Close()
		w.expect(w.client, "last words")
		w.expectEOF(w.client)
		w.ended()
	})
}

// A reset while the client is writing must not swallow what the server said.
func TestPumpLastWords(t *testing.T) {
	eachPump(t, func(t *testing.T, w *wire) {
		last := string(noise(100_000, 4))
		w.write(w.client, "a question that is never read")
		time.Sleep(50 * time.Millisecond)
		w.write(w.server, last)
		_ = w.server.Close() // with bytes unread: a reset
		_, _ = w.client.Write([]byte("more"))
		time.Sleep(20 * time.Millisecond)
		_, _ = w.client.Write([]byte("and more"))
		w.expect(w.client, last)
		_ = w.client.Close()
		w.ended()
	})
}

func TestPumpClientReset(t *testing.T) {
	eachPump(t, func(t *testing.T, w *wire) {
		go sendInPieces(w.server, noise(20<<20, 5))
		w.expect(w.client, string(noise(20<<20, 5)[:1000]))
		_ = w.client.SetLinger(0)
		_ = w.client.Close()
		_ = w.server.SetReadDeadline(time.Now().Add(5 * time.Second))
		_, err := io.Copy(io.Discard, w.server)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server saw %v, want the end or a reset", err)
		}
		w.ended()
	})
}

// A side that does not read holds up the other's sending, and nothing else.
func TestPumpBackPressure(t *testing.T) {
	eachPump(t, func(t *testing.T, w *wire) {
		result := noise(24<<20, 6)
		sent := make(chan int, 1)
		go func() {
			n, _ := w.server.Write(result)
			sent <- n
			_ = w.server.CloseWrite()
		}()
		select {
		case n := <-sent:
			t.Fatalf("%d bytes went into a connection nobody reads", n)
		case <-time.After(300 * time.Millisecond):
		}
		w.write(w.client, "the other way is open")
		w.expect(w.server, "the other way is open")
		_ = w.client.SetReadDeadline(time.Now().Add(20 * time.Second))
		same(t, "result", w.client, result)
		_ = w.client.Close()
		w.ended()
	})
}

func TestPumpDrainEndsIdleSessions(t *testing.T) {
	eachPump(t, func(t *testing.T, w *wire) {
		w.write(w.client, "hello")
		w.expect(w.server, "hello")
		w.pump.drain()
		w.expectEOF(w.client)
		w.expectEOF(w.server)
		w.ended()
	})
}

func TestPumpStopEndsAll(t *testing.T) {
	eachPump(t, func(t *testing.T, w *wire) {
		w.pump.stop()
		w.expectEOF(w.client)
		w.ended()
	})
}
