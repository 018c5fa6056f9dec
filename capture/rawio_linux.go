package capture

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// readFD and writeFD are recv(2) and send(2) on sockets, without blocking.
// They leave the scheduler out: it need not know of calls that return at once,
// and telling it costs as much as the smaller of them.

func readFD(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// writeFD sends without SIGPIPE, which Go would ignore for sockets anyway, but
// only after a detour.
func writeFD(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// waitFD is epoll_wait(2). Unlike the others it sleeps, for some ms at most.
func waitFD(epoll int, events []unix.EpollEvent, ms int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(ms), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
