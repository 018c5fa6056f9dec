package capture

import (
	"sync"

	"golang.org/x/sys/unix"
)

const (
	clientSide = 0
	serverSide = 1
)

// flow is one session in a loop.
type flow struct {
	session    *session
	slot       int32
	generation int32
	sides      [2]side
	reason     string // why it is about to end
	deadline   int64  // when it ends at the latest; 0: open
}

// side is one of a flow's two connections.
type side struct {
	fd       int
	interest uint32 // what epoll watches; 0: nothing, and then not its errors either
	out      []byte // what this side has not taken yet; while there is any, the other is not read
	page     *[loopBuffer]byte
	ended    bool // it has sent its last byte
	broken   bool // it takes nothing more
}

// quiet: nothing is held for either side, and both are alive.
func (f *flow) quiet() bool {
	a, b := &f.sides[clientSide], &f.sides[serverSide]
	return len(a.out) == 0 && len(b.out) == 0 && !a.ended && !b.ended
}

func (f *flow) because(reason string) {
	if f.reason == "" {
		f.reason = reason
	}
}

// open begins to serve a session.
func (l *loop) open(m letter) {
	f := &flow{session: m.session, sides: [2]side{{fd: m.client}, {fd: m.server}}}
	l.generation++
	f.generation = l.generation
	if n := len(l.free); n > 0 {
		f.slot, l.free = l.free[n-1], l.free[:n-1]
		l.flows[f.slot] = f
	} else {
		f.slot = int32(len(l.flows))
		l.flows = append(l.flows, f)
	}
	l.count++
	if l.stopped {
		l.end(f, drained)
		return
	}
	l.watch(f)
}

// end closes both connections and forgets the flow.
func (l *loop) end(f *flow, reason string) {
	f.because(reason)
	for i := range f.sides {
		s := &f.sides[i]
		closeFD(s.fd) // takes it out of epoll, too
		s.drop()
	}
	if f.deadline != 0 {
		l.lingering--
	}
	l.flows[f.slot] = nil
	l.free = append(l.free, f.slot)
	l.count--
	f.session.ended(f.reason)
}

// watch tells epoll what each side is waited for: its bytes, unless the other
// side still has some to take, and its readiness to take what is held for it.
func (l *loop) watch(f *flow) {
	for i := range f.sides {
		s, other := &f.sides[i], &f.sides[1-i]
		var want uint32
		if !s.ended && len(other.out) == 0 && !other.broken {
			want |= unix.EPOLLIN
		}
		if len(s.out) > 0 {
			want |= unix.EPOLLOUT
		}
		if want == s.interest {
			continue
		}
		op := unix.EPOLL_CTL_MOD
		switch {
		case s.interest == 0:
			op = unix.EPOLL_CTL_ADD
		case want == 0:
			// Left in with no interest it would still report its errors, over and over.
			op = unix.EPOLL_CTL_DEL
		}
		e := unix.EpollEvent{Events: want, Fd: f.slot<<1 | int32(i), Pad: f.generation}
		if err := unix.EpollCtl(l.epoll, op, s.fd, &e); err != nil {
			l.options.Log.Error("epoll_ctl failed, a session ends", "error", err)
			l.end(f, serverGone)
			return
		}
		s.interest = want
	}
}

// serve reacts to one side of a flow being ready.
func (l *loop) serve(f *flow, i int, events uint32) {
	s, other := &f.sides[i], &f.sides[1-i]
	if events&unix.EPOLLOUT != 0 && len(s.out) > 0 {
		if !l.flush(f, i) {
			return
		}
	}
	if events&^unix.EPOLLOUT == 0 || s.ended || len(other.out) > 0 || other.broken {
		return
	}
	l.move(f, i)
}

// move reads once from a side and passes on what came.
func (l *loop) move(f *flow, i int) {
	s, other := &f.sides[i], &f.sides[1-i]
	n, err := readFD(s.fd, l.buf[:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return
	case err != 0:
		l.end(f, goneReason[i])
		return
	case n == 0:
		l.finish(f, i)
		return
	}
	now := l.options.Now()
	l.now = now
	b := l.buf[:n]
	written, err := writeFD(other.fd, b)
	if i == clientSide {
		f.session.seeClient(b, now)
	} else {
		f.session.seeServer(b, now)
	}
	if err != 0 && err != unix.EAGAIN && err != unix.EINTR {
		l.fail(f, 1-i)
		return
	}
	if written < n {
		other.hold(b[written:])
		l.watch(f)
	}
}

var goneReason = [2]string{clientSide: clientGone, serverSide: serverGone}

// finish passes on that a side has sent its last byte.
func (l *loop) finish(f *flow, i int) {
	s, other := &f.sides[i], &f.sides[1-i]
	s.ended = true
	f.because(goneReason[i])
	if other.ended || other.broken || s.broken {
		l.end(f, f.reason)
		return
	}
	_ = unix.Shutdown(other.fd, unix.SHUT_WR)
	if i == serverSide {
		l.linger(f)
	}
	l.watch(f)
}

// fail notes that a side takes nothing more. What it said last may still be on
// its way, and is passed on.
func (l *loop) fail(f *flow, i int) {
	s := &f.sides[i]
	f.because(goneReason[i])
	s.broken = true
	s.drop()
	if s.ended {
		l.end(f, f.reason)
		return
	}
	l.linger(f)
	l.watch(f)
}

// linger gives a flow a moment to end by itself.
func (l *loop) linger(f *flow) {
	if f.deadline == 0 {
		f.deadline = l.options.Now() + int64(l.options.LingerTimeout)
		l.lingering++
	}
}

// flush sends what is held for a side. It returns false when the flow has ended.
func (l *loop) flush(f *flow, i int) bool {
	s := &f.sides[i]
	n, err := writeFD(s.fd, s.out)
	if err != 0 && err != unix.EAGAIN && err != unix.EINTR {
		l.fail(f, i)
		return false
	}
	if s.out = s.out[n:]; len(s.out) > 0 {
		return true
	}
	s.drop()
	l.watch(f)
	return true
}

var loopPages = sync.Pool{New: func() any { return new([loopBuffer]byte) }}

// hold keeps what a side has not taken. There is never more than one read's worth.
func (s *side) hold(b []byte) {
	s.page = loopPages.Get().(*[loopBuffer]byte)
	s.out = s.page[:copy(s.page[:], b)]
}

func (s *side) drop() {
	if s.page != nil {
		loopPages.Put(s.page)
	}
	s.page, s.out = nil, nil
}
