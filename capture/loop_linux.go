package capture

import (
	"fmt"
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
	again, more []turn // sides that have more to say: for the next round, of this one
	lingering   int    // flows that are closed when their time is over
	busy        bool   // there were events in the last round
	spare       bool   // Go's scheduler has room beside the loops
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
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		closeFD(epoll)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	l := &loop{options: o, epoll: epoll, wake: wake, done: make(chan struct{})}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wake, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: mailEvent}); err != nil {
		closeFD(epoll)
		closeFD(wake)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return l, nil
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

// run is the loop. It sleeps in epoll_wait itself: a goroutine that is woken by
// Go's own poller costs twice as much.
func (l *loop) run() {
	defer close(l.done)
	defer l.release()
	for !l.stopped || l.count > 0 {
		n, err := l.wait(l.timeout())
		if err != 0 && err != unix.EINTR {
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

// attention is how long a loop waits for the next event without telling Go's
// scheduler that it sleeps, in ms. To tell it at each of thousands of naps per
// second keeps the scheduler's watchman awake, at a tenth of the whole cost.
// While the loop does not tell it takes up one of GOMAXPROCS.
const attention = 5

// wait sleeps until there are events, or for timeout ms.
func (l *loop) wait(timeout int) (int, unix.Errno) {
	if l.busy && l.spare {
		nap := attention
		if timeout >= 0 {
			nap = min(nap, timeout)
		}
		n, err := waitFD(l.epoll, l.events[:], nap)
		if l.busy = n > 0; l.busy || nap == timeout {
			return n, err
		}
		if err == unix.EINTR {
			runtime.Gosched() // the scheduler wants something, such as to collect garbage
		}
	}
	n, err := unix.EpollWait(l.epoll, l.events[:], timeout)
	l.busy = n > 0
	if err != nil {
		return 0, err.(unix.Errno)
	}
	return n, 0
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
