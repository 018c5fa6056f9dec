package replay

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adopt takes a connection over from the runtime's poller, if it is one of the
// kinds that a loop can serve. The connection is the fiber's from then on.
func (l *loop) adopt(c net.Conn) (*fiber, bool) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, false
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err != nil || dupErr != nil {
		return nil, false
	}
	_ = c.Close() // the duplicate stays open
	l.mu.Lock()
	l.live++
	l.mu.Unlock()
	return &fiber{loop: l, fd: fd, spot: -1}, true
}

// start plays the session.
func (f *fiber) start(play func()) {
	f.play = play
	f.loop.post(f)
}

func (f *fiber) poke() {
	f.poked.Store(true)
	f.loop.post(f)
}

// limit is a time after which nothing is waited for any more.
func (f *fiber) limit(at int64) {
	f.last.Store(at)
	f.poke()
}

// park waits until the loop lets the fiber go on: for one of the reasons given,
// or because it was poked.
func (f *fiber) park(read, write bool, until int64) {
	f.wantsRead, f.wantsWrite, f.until = read, write, until
	if until != 0 {
		f.loop.timers.push(f)
	}
	f.yield(struct{}{})
	f.wantsRead, f.wantsWrite = false, false
}

func (f *fiber) late(until int64) bool { return until != 0 && f.loop.clock.Now() >= until }

// Pause waits for a poke or the time until.
func (f *fiber) Pause(until int64) {
	if f.poked.Swap(false) || f.late(until) {
		return
	}
	f.park(false, false, until)
	f.poked.Store(false)
}

// Read waits for bytes, a poke or the time until.
func (f *fiber) Read(b []byte, until int64) (int, error) {
	for {
		if f.poked.Load() && f.poked.Swap(false) {
			return 0, os.ErrDeadlineExceeded
		}
		if n, err, ok := f.receive(b); ok {
			return n, err
		}
		if f.late(until) {
			return 0, os.ErrDeadlineExceeded
		}
		f.park(true, false, until)
	}
}

// receive reads what is there; not ok where nothing is.
func (f *fiber) receive(b []byte) (n int, err error, ok bool) {
	if f.failed != nil {
		return 0, f.failed, true
	}
	if !f.readable {
		return 0, nil, false
	}
	n, errno := rawCall(unix.SYS_READ, f.fd, b)
	switch {
	case errno == unix.EAGAIN:
		f.readable = false
		return 0, nil, false
	case errno != 0:
		return 0, os.NewSyscallError("read", errno), true
	case n == 0:
		return 0, io.EOF, true
	}
	// Less than was asked for is all there was; what comes later is news.
	f.readable = n == len(b) || f.ending
	return n, nil, true
}

// Write writes all of b, and waits for the other side to take it.
func (f *fiber) Write(b []byte) (int, error) {
	for done := 0; ; {
		n, err := f.send(b[done:])
		if done += n; err != nil || done == len(b) {
			return done, err
		}
		last := f.last.Load()
		if f.late(last) {
			return done, os.ErrDeadlineExceeded
		}
		f.park(false, true, last)
	}
}

// send writes what there is room for.
func (f *fiber) send(b []byte) (int, error) {
	n, errno := rawCall(unix.SYS_WRITE, f.fd, b)
	switch {
	case errno == unix.EAGAIN:
		f.writable = false
		return 0, nil
	case errno != 0:
		return 0, os.NewSyscallError("write", errno)
	}
	return n, nil
}

// Exchange writes, then reads.
func (f *fiber) Exchange(out, in []byte, until int64) (int, error) {
	if _, err := f.Write(out); err != nil {
		return 0, err
	}
	return f.Read(in, until)
}

// Duplex writes and reads, whichever is possible.
func (f *fiber) Duplex(out, in []byte, until func() int64, got func(b []byte, err error) bool) error {
	for len(out) > 0 {
		n, err := f.send(out)
		if out = out[n:]; err != nil || len(out) == 0 {
			return err
		}
		n, err, ok := f.receive(in)
		switch {
		case ok:
		case f.poked.Swap(false) || f.late(until()):
			n, err = 0, os.ErrDeadlineExceeded
		default:
			f.park(true, true, until())
			continue
		}
		if !got(in[:n], err) {
			return os.ErrClosed
		}
	}
	return nil
}

// Close closes the connection.
func (f *fiber) Close() error {
	if f.fd < 0 {
		return os.ErrClosed
	}
	f.loop.fibers[f.fd] = nil
	err := unix.Close(f.fd) // which also takes it out of the poller
	f.fd = -1
	return os.NewSyscallError("close", err)
}

// rawCall does not tell the scheduler: the socket is non-blocking, so that the
// call lasts no longer than the copying. The runtime ignores SIGPIPE of all but
// the standard streams.
func rawCall(call uintptr, fd int, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
