package replay

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawLink saves a system call per round trip. A read that follows a write finds
// nothing and costs a call to learn it; but the runtime must be told that the
// connection is to be watched before the answer can arrive. Writing from inside
// the read's own callback, after the watch began, does both in order.
type rawLink struct {
	net.Conn
	raw  syscall.RawConn
	step func(fd uintptr) bool // exchangeStep, made once

	out, in []byte
	n       int
	err     error
}

// newLink is the cheapest link for a connection.
func newLink(c net.Conn) link {
	s, ok := c.(syscall.Conn)
	if !ok {
		return plainLink{c}
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return plainLink{c}
	}
	l := &rawLink{Conn: c, raw: raw}
	l.step = l.exchangeStep
	return l
}

// Exchange writes out and reads into in. Nothing may be outstanding: data that
// arrived before would not be noticed until the answer comes.
func (l *rawLink) Exchange(out, in []byte) (int, error) {
	l.out, l.in, l.n, l.err = out, in, 0, nil
	err := l.raw.Read(l.step)
	rest := l.out
	l.out, l.in = nil, nil
	switch {
	case l.err != nil:
		return 0, l.err
	case len(rest) > 0 && err == nil: // the socket's buffer was full
		return plainLink{l.Conn}.Exchange(rest, in)
	case len(rest) > 0: // a deadline for reading is none for writing
		if _, werr := l.Write(rest); werr != nil {
			return 0, werr
		}
		return 0, err
	case err != nil:
		return 0, err
	case l.n == 0:
		return 0, io.EOF
	}
	return l.n, nil
}

// exchangeStep returns false to wait until the connection can be read.
func (l *rawLink) exchangeStep(fd uintptr) bool {
	if len(l.out) > 0 {
		n, err := sendNow(int(fd), l.out)
		if err != nil && err != unix.EAGAIN {
			l.err = os.NewSyscallError("write", err)
			return true
		}
		l.out = l.out[n:]
		return len(l.out) > 0
	}
	n, err := receiveNow(int(fd), l.in)
	if err == unix.EAGAIN {
		return false
	}
	if err != nil {
		l.err = os.NewSyscallError("read", err)
		return true
	}
	l.n = n
	return true
}

// sendNow and receiveNow do not tell the scheduler: the socket is non-blocking,
// so that the call lasts no longer than the copying. The runtime ignores SIGPIPE
// of all but the standard streams.
func sendNow(fd int, b []byte) (int, error) { return rawCall(unix.SYS_WRITE, fd, b) }

func receiveNow(fd int, b []byte) (int, error) { return rawCall(unix.SYS_READ, fd, b) }

func rawCall(call uintptr, fd int, b []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
