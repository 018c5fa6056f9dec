package capture

import (
	"net"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// startPumps starts the pumps in order of preference.
func (p *Proxy) startPumps() ([]pump, error) {
	portable := newRelays(&p.options)
	if p.options.Portable {
		return []pump{portable}, nil
	}
	loops, err := newLoops(&p.options, loopsFor(runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	return []pump{loops, portable}, nil
}

// loopsFor: one loop does some 30,000 round trips per second, so that on a small
// machine a second one would only take the database's place.
func loopsFor(cpus int) int { return min(max(cpus/4, 1), 4) }

// loops is the pump for plain TCP on Linux. A few threads each serve many
// sessions, because what a round trip costs is mostly the waking of threads.
type loops struct {
	all  []*loop
	next chan int // whose turn it is
}

func newLoops(o *Options, n int) (*loops, error) {
	p := &loops{next: make(chan int, 1)}
	p.next <- 0
	for range n {
		l, err := newLoop(o)
		if err != nil {
			p.stop()
			p.wait()
			return nil, err
		}
		l.spare = n < runtime.GOMAXPROCS(0)
		p.all = append(p.all, l)
		go l.run()
	}
	return p, nil
}

func (p *loops) add(s *session) bool {
	client, server := descriptor(s.client), descriptor(s.server)
	if client < 0 || server < 0 {
		closeFD(client)
		closeFD(server)
		return false
	}
	// The descriptors are copies: Go's own poller forgets the originals, and
	// closing those closes nothing.
	_ = s.client.Close()
	_ = s.server.Close()
	n := <-p.next
	p.next <- (n + 1) % len(p.all)
	p.all[n].post(letter{session: s, client: client, server: server})
	return true
}

func (p *loops) drain() {
	for _, l := range p.all {
		l.post(letter{drain: true})
	}
}

func (p *loops) stop() {
	for _, l := range p.all {
		l.post(letter{stop: true})
	}
}

func (p *loops) wait() {
	for _, l := range p.all {
		<-l.done
	}
}

// descriptor is a copy of the descriptor under a plain connection, or -1.
func descriptor(c net.Conn) int {
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return -1
	}
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return -1
	}
	fd := -1
	err = raw.Control(func(original uintptr) {
		fd, _ = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err != nil {
		return -1
	}
	return fd
}

func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}
