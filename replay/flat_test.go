package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// instant is a server that has answered every query by the time it is asked.
type instant struct{}

func (instant) connect(context.Context, string, string, map[string]string) (net.Conn, func(context.Context) error, error) {
	return &instantConn{wake: make(chan struct{}, 1)}, func(context.Context) error { return nil }, nil
}

type instantConn struct {
	net.Conn
	wake chan struct{}

	mu      sync.Mutex
	answers []byte
	closed  bool
	past    bool // the read deadline
}

var instantAnswer = join(message('D', "\x00\x01\x00\x00\x00\x011"), message('C', "SELECT 1\x00"), message('Z', "I"))

func (c *instantConn) changed(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *instantConn) Write(b []byte) (int, error) {
	c.changed(func() {
		messages(b, func(kind byte, _ []byte) {
			if kind == 'Q' {
				c.answers = append(c.answers, instantAnswer...)
			}
			c.closed = c.closed || kind == 'X'
		})
	})
	return len(b), nil
}

func (c *instantConn) Read(b []byte) (int, error) {
	for {
		c.mu.Lock()
		n := copy(b, c.answers)
		c.answers = c.answers[:copy(c.answers, c.answers[n:])]
		closed, past := c.closed, c.past
		c.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case past:
			return 0, os.ErrDeadlineExceeded
		case closed:
			return 0, io.EOF
		}
		<-c.wake
	}
}

func (c *instantConn) SetReadDeadline(t time.Time) error {
	c.changed(func() { c.past = t == past })
	return nil
}
func (c *instantConn) SetWriteDeadline(time.Time) error { return nil }
func (c *instantConn) Close() error                     { c.changed(func() { c.closed = true }); return nil }

// flood writes a trace of n queries into a pipe as fast as it is read: 32
// sessions, in turns, every so often a query; and one that is silent from the
// first moment to the last.
func flood(t testing.TB, n int, every time.Duration) *trace.Reader {
	const sessions = 32
	r, w := io.Pipe()
	go func() {
		tp := &tape{t: t}
		var err error
		tp.w, err = trace.NewWriter(w, trace.Header{Engine: "postgres", MadeBy: trace.ByCapture, Started: "2026-03-01T12:00:00Z"},
			trace.WriterOptions{Now: func() int64 { return tapeStart }})
		tp.check(err)
		idle := tp.session(0, nil)
		var all []*taped
		for range sessions {
			all = append(all, tp.session(0, nil))
		}
		shape, sizes, values := tp.split.Split(query("select 1000000"))
		id, err := tp.w.Intern(trace.OpQuery, 0, shape, func() (string, []uint32) { return pg.Describe(query("select 1000000")) })
		tp.check(err)
		e := trace.Event{Shape: id, Sizes: sizes, RequestEnd: true, HasReply: true, Reply: trace.Reply{Took: int64(10 * every), Rows: 1, State: 'I', Results: 1}}
		for i := range n {
			s := all[i%sessions]
			e.Session, e.Ordinal, e.Start = s.id, s.next, tapeStart+int64(2*ms)+int64(i)*int64(every)
			e.Values = append(e.Values[:0], values...)
			copy(e.Values, strconv.Itoa(1000000+i%9000000))
			s.next++
			if tp.w.Event(&e) != nil {
				return // nobody reads any more
			}
		}
		last := 2*ms + time.Duration(n+20)*every
		for _, s := range append(all, idle) {
			s.query(last, 0, "select 1")
			s.end(last + ms)
		}
		tp.check(tp.w.Close())
		_ = w.Close()
	}()
	t.Cleanup(func() { _ = r.Close() })
	return trace.NewReader(r, "flood")
}

// footprint is what a replay held at its peak.
type footprint struct{ heap, rss int64 }

// flat replays a flood and watches memory.
func flat(t *testing.T, n int, o Options) footprint {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // what is held, not what is not collected yet
	debug.FreeOSMemory()
	var peak footprint
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(20 * ms)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.heap = max(peak.heap, int64(m.HeapInuse+m.StackInuse))
			peak.rss = max(peak.rss, resident(t))
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	o.connect, o.Clock, o.Run = instant{}, clock.NewTimers(), io.Discard
	began := time.Now()
	sum, err := Run(t.Context(), flood(t, n, 2*time.Microsecond), o)
	close(done)
	watching.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(n + 33); !sum.Accounted || sum.Statements != (Tally{Captured: want, OK: want}) {
		t.Fatalf("%+v %v", sum.Statements, sum.Why)
	}
	t.Logf("%s, %d events: %d MiB resident, %d MiB in heap and stacks, %.0f/s", o.Pace, n, peak.rss>>20, peak.heap>>20, float64(n)/time.Since(began).Seconds())
	return peak
}

func resident(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0 // another system
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Error(err)
	}
	return pages * int64(os.Getpagesize())
}

// Memory does not depend on the length of the trace, in any pace, read from a pipe.
// RETRACE_EVENTS=1000000,5000000,20000000 replays as many.
func TestMemoryIsFlat(t *testing.T) {
	lengths := []int{100_000, 500_000}
	if testing.Short() {
		t.Skip("ten seconds, a minute under the race detector")
	}
	if asked := os.Getenv("RETRACE_EVENTS"); asked != "" {
		lengths = nil
		for word := range strings.SplitSeq(asked, ",") {
			n, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			lengths = append(lengths, n)
		}
	}
	for _, o := range []Options{
		{Pace: PaceOriginal},
		{Pace: PaceOriginal, MaxGap: time.Second},
		{Pace: PaceThink, Speed: 1e6},
		{Pace: PaceClosed},
		{Pace: PaceRate, Rate: 400_000},
	} {
		t.Run(fmt.Sprint(o.Pace, " ", o.MaxGap), func(t *testing.T) {
			first := flat(t, lengths[0], o)
			for _, n := range lengths[1:] {
				if more := flat(t, n, o); more.heap > first.heap+16<<20 {
					t.Errorf("%d MiB for %d events, %d MiB for %d", more.heap>>20, n, first.heap>>20, lengths[0])
				}
			}
		})
	}
}

// A session that has run out of records because its client is silent does not
// make pace think read to the end of its silence: everybody else's records would
// pile up meanwhile.
func TestThinkPaceReadsNoFurtherThanItMust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := newTape(t)
		idle, busy := tp.session(0, nil), tp.session(0, nil)
		idle.query(10*ms, ms, "select 1")
		const minutes = 60
		random := rand.NewChaCha8([32]byte{1})
		noise := make([]byte, 500)
		for n := range minutes * 60 {
			_, _ = random.Read(noise) // which never fails
			busy.query(time.Duration(n+1)*time.Second, ms, fmt.Sprintf("select '%x'", noise))
			if n%10 == 0 {
				tp.check(tp.w.Flush())
			}
		}
		idle.query(minutes*time.Minute, ms, "select 3")
		idle.end(2 * minutes * time.Minute)
		busy.end(2 * minutes * time.Minute)
		o := Options{connect: &fake{}, Clock: clock.NewTimers(), Pace: PaceThink, prefetch: 1}
		tp.check(tp.w.Close())
		file := &metered{Reader: bytes.NewReader(tp.buf.Bytes())}
		in := trace.NewReader(file, "tape")
		done := make(chan *Summary)
		go func() {
			sum, err := Run(t.Context(), in, o)
			if err != nil {
				t.Error(err)
			}
			done <- sum
		}()
		time.Sleep(10 * time.Minute)
		if share := float64(file.n.Load()) / float64(tp.buf.Len()); share < 10.0/minutes || share > 0.4 {
			t.Errorf("after ten minutes of %d, %.0f %% of the trace is read", minutes, 100*share)
		}
		mustTally(t, <-done, Tally{Captured: minutes*60 + 2, OK: minutes*60 + 2})
	})
}

type metered struct {
	io.Reader
	n atomic.Int64
}

func (c *metered) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}
