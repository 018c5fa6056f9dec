package replay

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
)

// line is a session's connection, and how the session waits: for the server,
// for a moment, or for somebody to poke it. Times are the clock's; 0 is never.
type line interface {
	// Pause waits for a poke or the time until. It may return for no reason.
	Pause(until int64)
	// Read waits for bytes. A poke and the time until end it with
	// os.ErrDeadlineExceeded, which may also come for no reason.
	Read(b []byte, until int64) (int, error)
	Write(b []byte) (int, error)
	// Exchange is Write and then Read: the round trip of a session that has
	// nothing outstanding. All is written, poked or not.
	Exchange(out, in []byte, until int64) (int, error)
	// Duplex writes out and reads into in at the same time, so that a server
	// whose replies pile up goes on taking requests. got is told of each Read,
	// and returns false to give up; until is asked before each.
	Duplex(out, in []byte, until func() int64, got func(b []byte, err error) bool) error
	Close() error

	// poke ends a wait, or the next one. Anybody may call it.
	poke()
	// limit is a time after which nothing is waited for any more, and a poke.
	limit(at int64)
}

// threadLine is a line on a goroutine of its own, over any connection. Without
// one it can only Pause.
type threadLine struct {
	clock   clock.Clock
	wake    chan struct{}
	poked   atomic.Bool
	reading atomic.Bool

	mu   sync.Mutex
	conn net.Conn
	last int64 // see limit
}

func newThreadLine(c clock.Clock) *threadLine {
	return &threadLine{clock: c, wake: make(chan struct{}, 1)}
}

// use gives the line its connection.
func (l *threadLine) use(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = c
	l.bound()
}

// limit is a time after which nothing is waited for any more, and a poke.
func (l *threadLine) limit(at int64) {
	l.mu.Lock()
	l.last = at
	l.bound()
	l.mu.Unlock()
	l.poke()
}

// bound lets no write outlast the limit; reads have their own; l.mu is held.
func (l *threadLine) bound() {
	if l.conn != nil && l.last != 0 {
		_ = l.conn.SetWriteDeadline(time.Now().Add(time.Duration(l.last - l.clock.Now())))
	}
}

// past is a deadline that has gone by: it ends a blocked read at once.
var past = time.Unix(1, 0)

func (l *threadLine) poke() {
	l.poked.Store(true)
	select {
	case l.wake <- struct{}{}:
	default:
	}
	if !l.reading.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.SetReadDeadline(past)
	}
}

// Pause waits for a poke or the time until.
func (l *threadLine) Pause(until int64) {
	if l.poked.Swap(false) {
		return
	}
	if until != 0 {
		defer l.clock.At(until, l.poke)()
	}
	<-l.wake
	l.poked.Store(false)
}

// Read waits for bytes, a poke or the time until.
func (l *threadLine) Read(b []byte, until int64) (int, error) {
	if until != 0 {
		defer l.clock.At(until, l.poke)()
	}
	l.reading.Store(true)
	defer l.reading.Store(false)
	if l.poked.Swap(false) {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := l.conn.Read(b)
	if err != nil && os.IsTimeout(err) {
		l.poked.Store(false)
		_ = l.conn.SetReadDeadline(time.Time{})
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// Write writes all of b.
func (l *threadLine) Write(b []byte) (int, error) { return l.conn.Write(b) }

// Exchange writes, then reads.
func (l *threadLine) Exchange(out, in []byte, until int64) (int, error) {
	if _, err := l.conn.Write(out); err != nil {
		return 0, err
	}
	return l.Read(in, until)
}

// Duplex writes on another goroutine while this one reads.
func (l *threadLine) Duplex(out, in []byte, until func() int64, got func(b []byte, err error) bool) error {
	done := make(chan error, 1)
	go func() {
		_, err := l.conn.Write(out)
		done <- err
		l.poke()
	}()
	for {
		select {
		case err := <-done:
			return err
		default:
		}
		if n, err := l.Read(in, until()); !got(in[:n], err) {
			_ = l.conn.Close() // which ends the writing
			return <-done
		}
	}
}

// Close closes the connection.
func (l *threadLine) Close() error { return l.conn.Close() }
