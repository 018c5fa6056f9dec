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
	fd     int
	ready  bool   // it may have something to say
	queued bool   // it has a turn in the next round
	hungUp bool   // it has said its last, though that may not be read yet
	out    []byte // what this side has not taken yet; while there is any, the other is not read
	page   *[loopBuffer]byte
	ended  bool // its last byte was read
	broken bool // it takes nothing more
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
		closeFD(s.fd) // which takes it out of epoll, too
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

// watch registers both sides with epoll, once and for all: it reports changes
// only, so that a side that is not read for a while costs nothing.
func (l *loop) watch(f *flow) {
	for i := range f.sides {
		e := unix.EpollEvent{
			Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
			Fd:     f.slot<<1 | int32(i), Pad: f.generation,
		}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, f.sides[i].fd, &e); err != nil {
			l.options.Log.Error("epoll_ctl failed, a session ends", "error", err)
			l.end(f, serverGone)
			return
		}
	}
}

// serve reacts to a change on one side of a flow.
func (l *loop) serve(f *flow, i int, events uint32) {
	s := &f.sides[i]
	if events&^unix.EPOLLOUT != 0 {
		s.ready = true
		s.hungUp = s.hungUp || events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	}
	if len(s.out) > 0 && !l.flush(f, i) {
		return
	}
	l.pull(f, i)
}

// pull moves what a side has to say, once, if it can go on. A side that may have
// more gets another turn after all others.
func (l *loop) pull(f *flow, i int) {
	s, other := &f.sides[i], &f.sides[1-i]
	if !s.ready || s.ended || len(other.out) > 0 || other.broken {
		return
	}
	if l.move(f, i) && s.ready && !s.queued {
		s.queued = true
		l.again = append(l.again, turn{f, i})
	}
}

// turn is a side that has more to say.
type turn struct {
	flow *flow
	side int
}

// move reads once from a side and passes on what came. It returns false when the
// flow has ended.
func (l *loop) move(f *flow, i int) bool {
	s, other := &f.sides[i], &f.sides[1-i]
	n, err := readFD(s.fd, l.buf[:])
	switch {
	case err == unix.EAGAIN:
		s.ready = false
		return true
	case err == unix.EINTR:
		return true
	case err != 0:
		l.end(f, goneReason[i])
		return false
	case n == 0:
		return l.finish(f, i)
	}
	// A short read has emptied the socket: whatever comes later will be reported.
	s.ready = n == len(l.buf) || s.hungUp
	l.now = l.options.Now()
	b := l.buf[:n]
	written, err := writeFD(other.fd, b)
	if i == clientSide {
		f.session.seeClient(b, l.now)
	} else {
		f.session.seeServer(b, l.now)
	}
	if err != 0 && err != unix.EAGAIN && err != unix.EINTR {
		return l.fail(f, 1-i)
	}
	if written < n {
		other.hold(b[written:])
	}
	if f.deadline != 0 { // it is still at it
		f.deadline = l.now + int64(l.options.LingerTimeout)
	}
	return true
}

var goneReason = [2]string{clientSide: clientGone, serverSide: serverGone}

// finish passes on that a side has sent its last byte. It returns false when the
// flow has ended.
func (l *loop) finish(f *flow, i int) bool {
	s, other := &f.sides[i], &f.sides[1-i]
	s.ended = true
	f.because(goneReason[i])
	if other.ended || other.broken || s.broken {
		l.end(f, f.reason)
		return false
	}
	_ = unix.Shutdown(other.fd, unix.SHUT_WR)
	if i == serverSide {
		l.linger(f)
	}
	return true
}

// fail notes that a side takes nothing more. What it said last may still be on
// its way, and is passed on. It returns false when the flow has ended.
func (l *loop) fail(f *flow, i int) bool {
	s := &f.sides[i]
	f.because(goneReason[i])
	s.broken = true
	s.drop()
	if s.ended {
		l.end(f, f.reason)
		return false
	}
	l.linger(f)
	return true
}

// linger gives a flow a moment to end by itself.
func (l *loop) linger(f *flow) {
	if f.deadline == 0 {
		f.deadline = l.options.Now() + int64(l.options.LingerTimeout)
		l.lingering++
	}
}

// flush sends what is held for a side; once all of it has gone the other side is
// read again. It returns false when the flow has ended.
func (l *loop) flush(f *flow, i int) bool {
	s := &f.sides[i]
	n, err := writeFD(s.fd, s.out)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return true
	case err != 0:
		return l.fail(f, i)
	}
	if s.out = s.out[n:]; len(s.out) > 0 {
		return true
	}
	s.drop()
	l.pull(f, 1-i)
	return l.flows[f.slot] == f
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
