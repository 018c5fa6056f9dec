package replay

import (
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/retrace-db/retrace/internal/clock"
)

// loop plays many sessions on one goroutine, each as a coroutine that runs until
// it has to wait. It waits for all of them in one epoll, where a timerfd stands
// for the time the next one is due. A round trip is one write and one read, and
// neither the scheduler nor another thread has a part in it: that is what it
// takes to be as cheap as a load generator written in C, and punctual.
type loop struct {
	clock clock.Clock
	epoll int
	timer int // timerfd
	event int // eventfd, for pokes
	over  chan struct{}

	greedy bool // there is a processor for everybody else
	busy   bool

	fibers []*fiber // by descriptor
	timers heap[*fiber]
	armed  int64 // what the timerfd is set to, 0 for nothing
	slept  bool  // in the last wait
	waking int64 // ns, about what it takes to wake up for a timer

	mu     sync.Mutex
	posted []*fiber // poked, or new
	spare  []*fiber
	closed bool
	live   int // fibers that are not over
}

// newLoop makes a loop. A greedy one keeps its processor while it is busy, so
// that there must be others.
func newLoop(c clock.Clock, greedy bool) (*loop, error) {
	l := &loop{clock: c, greedy: greedy, epoll: -1, timer: -1, event: -1, over: make(chan struct{})}
	if err := l.open(); err != nil {
		l.release()
		return nil, err
	}
	go l.run()
	return l, nil
}

func (l *loop) open() (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	if l.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	for _, fd := range []int{l.timer, l.event} {
		if err := l.watch(fd, unix.EPOLLIN); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) watch(fd int, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &e))
}

func (l *loop) release() {
	for _, fd := range []int{l.epoll, l.timer, l.event} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// close ends the loop. Its sessions are over.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.ring()
	<-l.over
	l.release()
}

// ring ends the loop's wait.
func (l *loop) ring() {
	one := [8]byte{1}
	_, _ = unix.Write(l.event, one[:]) // it fails only when it has rung already
}

// post has the loop look at a fiber.
func (l *loop) post(f *fiber) {
	l.mu.Lock()
	first := false
	if !f.posted {
		f.posted = true
		l.posted = append(l.posted, f)
		first = len(l.posted) == 1
	}
	l.mu.Unlock()
	if first {
		l.ring()
	}
}

// run is the loop.
func (l *loop) run() {
	defer close(l.over)
	var events [256]unix.EpollEvent
	for l.takePosted() {
		for i := range l.wait(events[:], l.arm()) {
			l.happened(&events[i])
		}
		l.fire()
	}
}

// briefly is how many milliseconds a busy loop waits without telling the
// scheduler, which would take its processor away and give it back each time. A
// garbage collection may have to wait as long.
const briefly = 1

// wait waits for events. A loop that is busy, and one whose next moment is near,
// expects them at once.
func (l *loop) wait(events []unix.EpollEvent, near bool) int {
	l.slept = false
	if near {
		return max(l.poll(events, 0), 0)
	}
	if l.busy {
		l.busy = false
		if n := l.poll(events, briefly); n > 0 {
			l.busy = true
			return n
		}
	}
	n, err := unix.EpollWait(l.epoll, events, -1)
	if err != nil && err != unix.EINTR {
		// Nothing but a bad descriptor could be the reason.
		panic(os.NewSyscallError("epoll_wait", err))
	}
	l.slept, l.busy = true, l.greedy
	return max(n, 0)
}

// poll waits for so many milliseconds, without telling Go's scheduler.
func (l *loop) poll(events []unix.EpollEvent, ms uintptr) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), ms, 0, 0)
	if errno != 0 {
		return -1
	}
	return int(n)
}

// happened takes note of an event of the poller.
func (l *loop) happened(e *unix.EpollEvent) {
	fd := int(e.Fd)
	if fd == l.timer || fd == l.event {
		var count [8]byte
		_, _ = unix.Read(fd, count[:])
		if fd == l.timer {
			l.woken()
		}
		return
	}
	if fd >= len(l.fibers) || l.fibers[fd] == nil {
		return
	}
	f := l.fibers[fd]
	const gone = unix.EPOLLHUP | unix.EPOLLERR | unix.EPOLLRDHUP
	f.ending = f.ending || e.Events&gone != 0
	f.readable = f.readable || e.Events&(unix.EPOLLIN|gone) != 0
	f.writable = f.writable || e.Events&(unix.EPOLLOUT|gone) != 0
	if f.wantsRead && f.readable || f.wantsWrite && f.writable {
		l.step(f)
	}
}

// arm sets the timerfd for the fiber that is to go on first, earlier by what it
// takes to wake up. It tells whether that moment is so near that sleeping would
// miss it.
func (l *loop) arm() (near bool) {
	if len(l.timers) == 0 {
		return false
	}
	at := l.timers[0].until - l.waking
	now := l.clock.Now()
	if at <= now && l.greedy {
		return true
	}
	if at == l.armed {
		return false
	}
	l.armed = at
	left := max(at-now, 1) // a time of zero would disarm it
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(left)}
	_ = unix.TimerfdSettime(l.timer, 0, &spec, nil) // it fails only for a bad descriptor or time
	return false
}

// longestWaking bounds, in ns, how long a loop looks at the clock instead of sleeping.
const longestWaking = 80_000

// fire lets those go on whose time has come.
func (l *loop) fire() {
	if len(l.timers) == 0 {
		return
	}
	for now := l.clock.Now(); len(l.timers) > 0 && l.timers[0].until <= now; {
		l.step(l.timers[0])
	}
}

// woken takes note that the timer rang, and of how late that ended a sleep.
func (l *loop) woken() {
	if l.slept && l.greedy && l.armed > 0 {
		late := min(max(l.clock.Now()-l.armed, 0), longestWaking)
		l.waking += (late - l.waking) / 16
	}
	l.armed = 0
}

// takePosted begins new fibers and lets poked ones go on. It tells whether the
// loop is to go on.
func (l *loop) takePosted() bool {
	l.mu.Lock()
	posted := l.posted
	l.posted = l.spare[:0]
	for _, f := range posted {
		f.posted = false
	}
	goOn := !l.closed || l.live > 0
	l.mu.Unlock()
	for _, f := range posted {
		if f.resume == nil {
			l.begin(f)
		}
		l.step(f)
	}
	clear(posted)
	l.spare = posted[:0]
	return goOn
}

func (l *loop) begin(f *fiber) {
	for len(l.fibers) <= f.fd {
		l.fibers = append(l.fibers, nil)
	}
	l.fibers[f.fd] = f
	f.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		f.play()
	})
	if err := l.watch(f.fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET); err != nil {
		f.failed = err
	}
}

// step lets a fiber go on until it waits again, or is over.
func (l *loop) step(f *fiber) {
	if f.spot >= 0 {
		l.timers.remove(f.spot)
	}
	if f.done {
		return
	}
	if _, more := f.resume(); more {
		return
	}
	f.done = true
	l.mu.Lock()
	l.live--
	l.mu.Unlock()
}

// fiber is a session on a loop, and its line.
type fiber struct {
	loop   *loop
	fd     int
	play   func()
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
	failed error
	done   bool

	readable, writable    bool // as far as is known
	ending                bool // the other side has closed, or worse
	wantsRead, wantsWrite bool
	until                 int64 // while it waits
	spot                  int   // in timers, -1 for none

	poked  atomic.Bool
	last   atomic.Int64 // see limit
	posted bool         // under loop.mu
}

func (f *fiber) before(o *fiber) bool { return f.until < o.until }
func (f *fiber) place(i int)          { f.spot = i }
