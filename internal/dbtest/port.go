package dbtest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// FreePort finds a port that nobody listens on, below those that the kernel
// gives to outgoing connections, so that none of these takes it meanwhile.
func FreePort() (int, error) {
	for range 100 {
		port := 15000 + int(time.Now().UnixNano()/1000)%17000
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("found no free port on 127.0.0.1")
}

// WaitListening returns when something listens on host:port of this machine.
// It asks the kernel instead of connecting, so that no proxy counts a visit.
func WaitListening(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return err
	}
	for !listening(uint16(number)) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("nothing listens on %s: %w", addr, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// listening looks for the port in the kernel's tables; state 0A is LISTEN.
func listening(port uint16) bool {
	want := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 3 && fields[3] == "0A" && strings.HasSuffix(fields[1], want) {
				return true
			}
		}
	}
	return false
}
