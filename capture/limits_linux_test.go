package capture

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// RP-17: without file descriptors the proxy waits until there are some again.
func TestOutOfDescriptors(t *testing.T) {
	said := &lockedBuffer{}
	proxy, _ := through(t, fakeServer(t), Options{Log: slog.New(slog.NewTextHandler(said, nil))})
	if got := exchangeAll(t, proxy, script{}.startPacket()); !strings.HasPrefix(got, "A") {
		t.Fatalf("got %q", got)
	}
	// The socket is made before the descriptors run out, and connected after.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	port := netip.MustParseAddrPort(proxy).Port()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	restore := func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was) }
	defer restore()
	none := was
	none.Cur = 3 // fewer than are open
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // it cannot be accepted
	restore()
	f := os.NewFile(uintptr(fd), "client")
	c, err := net.FileConn(f)
	_ = f.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write(script{}.startPacket())
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	b := make([]byte, 1)
	if _, err := c.Read(b); err != nil || b[0] != 'A' {
		t.Errorf("got %q, %v", b, err)
	}
	if text := said.String(); strings.Count(text, "too many open files") != 1 || strings.Count(text, "accepted again") != 1 {
		t.Errorf("the lack is to be said once, and that it is over: %s", text)
	}
}

// lockedBuffer can be read while others write to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
