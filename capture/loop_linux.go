package capture

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// loopBuffer is what one read takes at most. There is one per loop, not one per
// session: what was read goes on before anything else is read.
const loopBuffer = 64 << 10

// loop serves sessions on one thread.
type loop struct {
	options *Options
	epoll   int
	wake    int // an eventfd: there is mail
	done    chan struct{}

	mu   sync.Mutex
	mail []letter

	flows       []*flow // by slot
	free        []int32
	generation  int32 // of the flow opened last; only told apart, so that wrapping does no harm
	count       int
	again, more []turn             // sides that have more to say: for the next round, of this one
	lingering   int                // flows that are closed when their time is over
	look        func(uintptr) bool // glance
	seen        int
	seenErr     error
	busy        bool // there were events in the last round
	spare       bool // Go's scheduler has room beside the loops
	draining    bool
	stopped     bool
	now         int64 // of the latest read
	yielded     int64
	checked     int64 // when lingering and idle flows were looked at last
	buf         [loopBuffer]byte
	events      [128]unix.EpollEvent
	mailbox     []letter
}

// letter is what other goroutines tell a loop.
type letter struct {
	session        *session
	client, server int
	drain, stop    bool
}

func newLoop(o *Options) (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	l := &loop{options: o, epoll: epoll, wake: -1, done: make(chan struct{})}
	l.look = l.glance
	if err := l.prepare(); err != nil {
		closeFD(l.wake)
		closeFD(epoll)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return l, nil
}

func (l *loop) prepare() (err error) {
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	mail := unix.EpollEvent{Events: unix.EPOLLIN, Fd: mailEvent}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.wake, &mail); err != nil {
		return err
	}
	return unix.SetNonblock(l.epoll, true) // which tells os.NewFile to use the poller
}

// mailEvent marks the eventfd among the events; others carry slot and side.
const mailEvent = -1

func (l *loop) post(m letter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wake < 0 {
		if m.session != nil { // the loop has ended in the meantime
			closeFD(m.client)
			closeFD(m.server)
			m.session.ended(drained)
		}
		return
	}
	l.mail = append(l.mail, m)
	_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// run is the loop.
func (l *loop) run() {
	defer close(l.done)
	defer l.release()
	for !l.stopped || l.count > 0 {
		n, err := l.wait(l.timeout())
		if err != nil {
			l.options.Log.Error("epoll failed, all sessions end", "error", err)
			l.endAll(serverGone)
			return
		}
		l.more, l.again = l.again, l.more[:0]
		for i := range max(n, 0) {
			l.event(&l.events[i])
		}
		l.turns()
		l.yield()
		if l.draining || l.lingering > 0 {
			l.check()
		}
	}
}

// A loop sleeps in two ways. Between the packets of a busy session it naps in
// epoll_wait on its own thread, without a word to Go's scheduler: that is half
// of what waking a goroutine costs. When nothing has come for a while it waits
// for its epoll descriptor as goroutines wait for any other. It must not do so in
// an ordinary system call: whenever one ends that was long, the scheduler's
// watchman wakes with it and looks around every 20 µs for some ms, which at a
// low rate is most of the whole cost.

// attention is how long a nap lasts, in ms. The napping loop takes up one of
// GOMAXPROCS.
const attention = 5

// wait returns when there are events, or after timeout ms if that is not negative.
func (l *loop) wait(timeout int) (int, error) {
	if timeout == 0 || l.busy && l.spare {
		nap := attention
		if timeout >= 0 {
			nap = min(nap, timeout)
		}
		n, err := waitFD(l.epoll, l.events[:], nap)
		if l.busy = n > 0; l.busy || nap == timeout {
			return n, ignoreInterrupt(err)
		}
		if err != nil {
			runtime.Gosched() // the scheduler wants something, such as to collect garbage
		}
	}
	n, err := l.sleep(timeout)
	l.busy = n > 0
	return n, err
}

// sleep waits as goroutines do. The runtime's poller gets a copy of the
// descriptor for this time only: else each packet would wake one of its threads,
// too.
func (l *loop) sleep(timeout int) (int, error) {
	fd, err := unix.FcntlInt(uintptr(l.epoll), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil { // no descriptor is left: it must do without, at some cost
		n, err := unix.EpollWait(l.epoll, l.events[:], timeout)
		return max(n, 0), ignoreInterrupt(err)
	}
	file := os.NewFile(uintptr(fd), "epoll")
	defer file.Close()
	if timeout >= 0 {
		if err := file.SetReadDeadline(time.Now().Add(time.Duration(timeout) * time.Millisecond)); err != nil {
			return 0, err
		}
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	if err := raw.Read(l.look); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, err
	}
	return l.seen, ignoreInterrupt(l.seenErr)
}

// glance asks for events without waiting, and tells whether there was an answer.
func (l *loop) glance(fd uintptr) bool {
	l.seen, l.seenErr = waitFD(int(fd), l.events[:], 0)
	return l.seen > 0 || l.seenErr != nil
}

func ignoreInterrupt(err error) error {
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

// yieldEvery is less than the 10 ms after which the scheduler takes a goroutine
// to be a hog, though this one sleeps most of the time.
const yieldEvery = 8 * int64(time.Millisecond)

// yield shows the scheduler that this goroutine is no hog.
func (l *loop) yield() {
	if l.now-l.yielded > yieldEvery {
		l.yielded = l.now
		runtime.Gosched()
	}
}

// release gives back the loop's own descriptors; sessions posted too late end.
func (l *loop) release() {
	closeFD(l.epoll)
	l.mu.Lock()
	late := l.mail
	closeFD(l.wake)
	l.wake = -1
	l.mu.Unlock()
	for _, m := range late {
		if m.session != nil {
			l.post(m)
		}
	}
}

func (l *loop) timeout() int {
	switch {
	case len(l.again) > 0:
		return 0
	case l.draining && l.count > 0:
		return int(drainCheck / time.Millisecond)
	case l.lingering > 0:
		return 100
	}
	return -1
}

// An event names its flow by slot, and by a generation, because a flow that
// ended earlier in the same round may have given its slot to another.

func (l *loop) event(e *unix.EpollEvent) {
	if e.Fd == mailEvent {
		l.readMail()
		return
	}
	f := l.flows[e.Fd>>1]
	if f == nil || f.generation != e.Pad {
		return
	}
	l.serve(f, int(e.Fd&1), e.Events)
}

// turns serves the sides that had more to say in the round before.
func (l *loop) turns() {
	for _, t := range l.more {
		t.flow.sides[t.side].queued = false
		if l.flows[t.flow.slot] == t.flow {
			l.pull(t.flow, t.side)
		}
	}
	clear(l.more)
}

func (l *loop) readMail() {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:])
	l.mu.Lock()
	l.mail, l.mailbox = l.mailbox[:0], l.mail
	l.mu.Unlock()
	for _, m := range l.mailbox {
		switch {
		case m.stop:
			l.stopped = true
			l.endAll(drained)
		case m.drain:
			l.draining = true
		default:
			l.open(m)
		}
	}
	clear(l.mailbox)
}

func (l *loop) endAll(reason string) {
	for _, f := range l.flows {
		if f != nil {
			l.end(f, reason)
		}
	}
}

// check ends flows that need no event to end: they are idle and to be let go,
// or have lingered long enough.
func (l *loop) check() {
	now := l.options.Now()
	if now-l.checked < int64(drainCheck) {
		return
	}
	l.checked = now
	for _, f := range l.flows {
		switch {
		case f == nil:
		case f.deadline != 0 && now > f.deadline:
			l.end(f, f.reason)
		case l.draining && f.quiet() && f.session.idle():
			l.end(f, drained)
		}
	}
}
