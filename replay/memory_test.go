package replay

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/target"
	"github.com/retrace-db/retrace/trace"
)

// door is a server that lets everybody in and answers every query with one row.
func door(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	welcome := join(message('R', "\x00\x00\x00\x00"), message('K', "\x00\x00\x00\x01\x00\x00\x00\x02"), message('Z', "I"))
	answer := join(message('D', "\x00\x01\x00\x00\x00\x011"), message('C', "SELECT 1\x00"), message('Z', "I"))
	var open sync.WaitGroup
	serve := func(c net.Conn) {
		defer c.Close()
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[:]))-8); err != nil {
			return
		}
		_, _ = c.Write(welcome)
		buf := make([]byte, 256)
		for {
			n, err := c.Read(buf)
			if err != nil || buf[0] == 'X' {
				return
			}
			for b := buf[:n]; len(b) > 0; {
				_, _, rest, _ := nextMessage(b)
				_, _ = c.Write(answer)
				b = rest
			}
		}
	}
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); open.Wait() })
	return "postgres://app@" + l.Addr().String() + "/shop?sslmode=disable"
}

// crowd is a trace of n sessions that are all open at once.
func crowd(t testing.TB, n, queries int) []byte {
	tp := newTape(t)
	var all []*taped
	for i := range n {
		all = append(all, tp.session(time.Duration(i)*10*time.Microsecond, map[string]string{"application_name": "crowd"}))
	}
	for q := range queries {
		for i, s := range all {
			s.query(time.Second+time.Duration(q*n+i)*20*time.Microsecond, 10*time.Microsecond, "select 1")
		}
	}
	for _, s := range all {
		s.end(time.Hour)
	}
	tp.check(tp.w.Close())
	return tp.buf.Bytes()
}

// A session costs a bounded amount of memory, here that of the server's side
// included.
func TestMemoryPerSession(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 300
	}
	recorded := crowd(t, n, 3)
	to, err := target.Parse(door(t), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	both(t, func(t *testing.T, how func(*Options)) {
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		measured := make(chan struct{})
		o := Options{Target: to, Pace: PaceOriginal, Duration: 20 * time.Second}
		how(&o)
		o.Started = func(p *Progress) {
			go func() {
				defer close(measured)
				for p.Now().Statements < uint64(3*n) {
					time.Sleep(10 * time.Millisecond)
				}
				runtime.GC()
				runtime.ReadMemStats(&during)
				p.p.end(expired)
			}()
		}
		sum, err := Run(t.Context(), trace.NewReader(bytes.NewReader(recorded), "crowd"), o)
		if err != nil {
			t.Fatal(err)
		}
		<-measured
		if !sum.Accounted || sum.PeakSessions != n || sum.Statements.OK != uint64(3*n) {
			t.Errorf("%+v %v %v", sum.Statements, sum.Reasons, sum.Warnings)
		}
		fixed := int64(12 << 20) // histograms and reader
		grown := int64(during.HeapInuse+during.StackInuse) - int64(before.HeapInuse+before.StackInuse) - fixed
		t.Logf("%d KiB per session (heap %d MB, stacks %d MB)", grown/int64(n)/1024, during.HeapInuse>>20, during.StackInuse>>20)
		if grown/int64(n) > 40<<10 {
			t.Errorf("%d bytes per session", grown/int64(n))
		}
	})
}
