package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/wire/pg"
)

func code(n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, n)
}

// fakeServer answers every start packet with a login, then echoes what comes.
func fakeServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				packet, code, err := pg.ReadStartup(c)
				if err != nil || code == pg.CodeCancel {
					return
				}
				_, _ = c.Write(raw('A', string(packet))) // as an asynchronous message, so that a test sees it
				_, _ = c.Write(append(raw('R', "\x00\x00\x00\x00"), raw('Z', "I")...))
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// exchangeAll sends and reads until the end of the stream or a quiet moment.
func exchangeAll(t *testing.T, addr string, pieces ...[]byte) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got bytes.Buffer
	buf := make([]byte, 4096)
	for _, p := range pieces {
		_, _ = c.Write(p)
		_ = c.SetReadDeadline(time.Now().Add(150 * time.Millisecond))
		for {
			n, err := c.Read(buf)
			got.Write(buf[:n])
			if errors.Is(err, io.EOF) {
				return got.String() + "$"
			}
			if err != nil {
				break
			}
		}
	}
	return got.String()
}

func TestHandshake(t *testing.T) {
	proxy, _ := through(t, fakeServer(t), Options{HandshakeTimeout: time.Second})
	start := script{}.startPacket()
	ssl, gss := code(pg.CodeSSL), code(pg.CodeGSS)
	welcome := string(raw('A', string(start))) + string(raw('R', "\x00\x00\x00\x00")) + string(raw('Z', "I"))
	huge := []byte{0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0}
	for name, c := range map[string]struct {
		pieces [][]byte
		want   string // exact, or the beginning if it ends in …
	}{
		"plain":              {[][]byte{start}, welcome},
		"ssl":                {[][]byte{ssl, start}, "N" + welcome},
		"gss":                {[][]byte{gss, start}, "N" + welcome},
		"gss, ssl":           {[][]byte{gss, ssl, start}, "NN" + welcome},
		"ssl, gss":           {[][]byte{ssl, gss, start}, "NN" + welcome},
		"ssl over and over":  {[][]byte{ssl, ssl, ssl, ssl, ssl, ssl}, "NNNNNE…08P01"},
		"in pieces":          {[][]byte{start[:1], start[1:7], start[7:]}, welcome},
		"http":               {[][]byte{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")}, "E…08P01"},
		"tls":                {[][]byte{{0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3}}, string(tlsAlert) + "$"},
		"huge packet":        {[][]byte{huge}, "E…08P01"},
		"tiny packet":        {[][]byte{{0, 0, 0, 4}}, "E…08P01"},
		"negative length":    {[][]byte{{0xff, 0xff, 0xff, 0xff, 0, 3, 0, 0}}, "E…08P01"},
		"zeros":              {[][]byte{make([]byte, 64)}, "E…08P01"},
		"cancel of nobody":   {[][]byte{{0, 0, 0, 16, 4, 0xd2, 0x16, 0x2e, 0, 0, 0, 1, 0, 0, 0, 2}}, "$"},
		"cancel after ssl":   {[][]byte{ssl, {0, 0, 0, 16, 4, 0xd2, 0x16, 0x2e, 0, 0, 0, 1, 0, 0, 0, 2}}, "N$"},
		"start and a query":  {[][]byte{append(bytes.Clone(start), msgs(query("x"))...)}, welcome + string(msgs(query("x")))},
		"protocol 3.2 start": {[][]byte{version(start, 3<<16|2)}, "A…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := exchangeAll(t, proxy, c.pieces...)
			begin, inside, open := strings.Cut(c.want, "…")
			if !open && got != c.want || open && !(strings.HasPrefix(got, begin) && strings.Contains(got, inside)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func version(start []byte, v uint32) []byte {
	b := bytes.Clone(start)
	binary.BigEndian.PutUint32(b[4:], v)
	return b
}

// SE-08: a client that never completes its start packet is told, and let go.
func TestHandshakeTimeout(t *testing.T) {
	proxy, _ := through(t, fakeServer(t), Options{HandshakeTimeout: 300 * time.Millisecond})
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begun := time.Now()
	go func() { // one byte at a time must not extend the time
		for _, b := range (script{}).startPacket() {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	got, _ := io.ReadAll(c)
	if !strings.Contains(string(got), "no start packet came in time") || time.Since(begun) > 3*time.Second {
		t.Errorf("after %s: %q", time.Since(begun), got)
	}
}

func TestConnectionLimit(t *testing.T) {
	proxy, _ := through(t, fakeServer(t), Options{MaxConns: 2})
	var open []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write(script{}.startPacket())
		if _, err := io.ReadFull(c, make([]byte, 20)); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	if got := exchangeAll(t, proxy, script{}.startPacket()); !strings.Contains(got, "53300") {
		t.Errorf("the third connection got %q", got)
	}
	_ = open[0].Close()
	waitFor(t, func() bool {
		return strings.HasPrefix(exchangeAll(t, proxy, script{}.startPacket()), "A")
	})
}

func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	for range 100 {
		if what() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("it did not come about")
}

// The client of a target that is not there is told so by the protocol's own
// means, and the recording has the attempt.
func TestTargetDown(t *testing.T) {
	rec := newRecording(t)
	proxy, stop := through(t, "127.0.0.1:1", Options{Recorder: rec.Recorder})
	got := exchangeAll(t, proxy, code(pg.CodeSSL), script{}.startPacket())
	if !strings.HasPrefix(got, "NE") || !strings.Contains(got, "08006") || !strings.Contains(got, "127.0.0.1:1") {
		t.Errorf("the client got %q", got)
	}
	stop()
	events, _ := rec.events()
	if len(events) != 1 {
		t.Fatalf("%d sessions recorded", len(events))
	}
	for _, session := range events {
		if e := session[0]; e.Entry.Op != 'c' || e.Status.String() != "error" || e.Reason != "08006" {
			t.Errorf("recorded %c %v %q", e.Entry.Op, e.Status, e.Reason)
		}
	}
}

// Nothing that comes before a session is a session: not a health check, not a
// port scan.
func TestNothingIsNoSession(t *testing.T) {
	rec := newRecording(t)
	proxy, stop := through(t, fakeServer(t), Options{Recorder: rec.Recorder})
	for range 3 {
		c, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	_ = exchangeAll(t, proxy, []byte("\n\n\n\n\n\n\n\n"))
	stop()
	if events, gaps := rec.events(); len(events)+len(gaps) != 0 {
		t.Errorf("recorded %v %v", events, gaps)
	}
}

func TestListenSaysWhy(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Listen(l.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "another program") || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("%v", err)
	}
}

// However many clients send their start packets byte by byte, they are no more
// at a time than connections are allowed, and none longer than the time for a
// handshake: then there is room again.
func TestSlowStarts(t *testing.T) {
	const most = 20
	proxy, _ := through(t, fakeServer(t), Options{HandshakeTimeout: 500 * time.Millisecond, MaxConns: most})
	var all sync.WaitGroup
	defer all.Wait()
	for range 5 * most {
		c, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer c.Close()
			for _, b := range (script{}).startPacket() {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Error("a start packet of several seconds was let in")
		})
	}
	for begun := time.Now(); !strings.HasPrefix(exchangeAll(t, proxy, script{}.startPacket()), "A"); time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("there was no room again")
		}
	}
}
