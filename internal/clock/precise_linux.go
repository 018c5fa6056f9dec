package clock

import (
	"context"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Precise is a Clock that waits on one timerfd for all its callers. The
// runtime's poller sleeps in epoll_wait, which a timerfd ends at the moment it
// was set for, while the runtime's own timers end it at the next millisecond.
// The goroutine that reads the timerfd wakes the waiters and then blocks, so
// the first of them goes on on the same thread: no thread is ever handed work.
// Measured against nanosleep on locked threads it is as early at the median and
// several times better at the 99th percentile, for less CPU.
type Precise struct {
	anchor
	fd   int
	file *os.File
	done chan struct{}

	mu      sync.Mutex
	waiting queue
	free    []*waiter
	closed  bool
}

// New is the most precise clock this system has. Close it when done.
func New() (*Precise, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	c := &Precise{
		anchor: newAnchor(),
		fd:     fd,
		file:   os.NewFile(uintptr(fd), "timerfd"),
		done:   make(chan struct{}),
	}
	go c.dispatch()
	return c, nil
}

// Close ends the clock; whoever still waits is woken.
func (c *Precise) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	err := c.file.Close()
	c.mu.Unlock()
	<-c.done
	return err
}

// Wait returns when Now is t or later, or with the error of ctx.
func (c *Precise) Wait(ctx context.Context, t int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t <= c.Now() {
		return nil
	}
	w := c.enqueue(t, nil)
	if w == nil {
		return os.ErrClosed
	}
	select {
	case <-w.wake:
		c.release(w)
		return nil
	case <-ctx.Done():
		c.abandon(w)
		return ctx.Err()
	}
}

// At calls f once Now is t or later. It runs on the goroutine that wakes the
// waiters.
func (c *Precise) At(t int64, f func()) (stop func()) {
	w := c.enqueue(t, f)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if w != nil && w.index >= 0 {
			c.waiting.remove(w.index)
		}
	}
}

func (c *Precise) enqueue(t int64, call func()) *waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	var w *waiter
	if call == nil {
		w = c.take()
	} else {
		w = &waiter{call: call}
	}
	w.at = t
	c.waiting.push(w)
	if w.index == 0 {
		c.arm()
	}
	return w
}

func (c *Precise) take() *waiter {
	if n := len(c.free); n > 0 {
		w := c.free[n-1]
		c.free = c.free[:n-1]
		return w
	}
	return &waiter{index: -1, wake: make(chan struct{}, 1)}
}

func (c *Precise) release(w *waiter) {
	c.mu.Lock()
	c.free = append(c.free, w)
	c.mu.Unlock()
}

func (c *Precise) abandon(w *waiter) {
	c.mu.Lock()
	if w.index >= 0 {
		c.waiting.remove(w.index)
	} else {
		<-w.wake // it was woken at the same moment
	}
	c.free = append(c.free, w)
	c.mu.Unlock()
}

// arm sets the timerfd for the earliest waiter; c.mu is held.
func (c *Precise) arm() {
	// A time of zero would disarm it: what is due already is due in one ns.
	left := int64(1)
	if at, now := c.waiting[0].at, c.Now(); at > now {
		left = at - now
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(left)}
	// It fails only for a bad descriptor or a bad time, and these are neither.
	_ = unix.TimerfdSettime(c.fd, 0, &spec, nil)
}

// dispatch wakes waiters until the clock is closed.
func (c *Precise) dispatch() {
	defer close(c.done)
	var expirations [8]byte
	for {
		_, err := c.file.Read(expirations[:])
		c.mu.Lock()
		calls := c.wakeDue(err != nil || c.closed)
		c.mu.Unlock()
		for _, call := range calls {
			call()
		}
		if err != nil {
			return
		}
	}
}

// wakeDue wakes those whose time has come, or all, and returns the calls to
// make; c.mu is held. After all, no one waits and the descriptor, which may be
// somebody else's by then, is left alone.
func (c *Precise) wakeDue(all bool) (calls []func()) {
	now := c.Now()
	for len(c.waiting) > 0 && (all || c.waiting[0].at <= now) {
		w := c.waiting.remove(0)
		if w.call != nil {
			calls = append(calls, w.call)
			continue
		}
		w.wake <- struct{}{}
	}
	if len(c.waiting) > 0 {
		c.arm()
	}
	return calls
}
