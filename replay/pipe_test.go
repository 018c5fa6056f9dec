package replay

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// bufferedPipe is net.Pipe with the buffers that sockets have.
func bufferedPipe() (net.Conn, net.Conn) {
	a, b := newStream(), newStream()
	return &pipeEnd{in: a, out: b}, &pipeEnd{in: b, out: a}
}

type stream struct {
	mu       sync.Mutex
	buf      []byte
	closed   bool
	deadline time.Time
	wake     chan struct{}
}

func newStream() *stream { return &stream{wake: make(chan struct{}, 1)} }

func (s *stream) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

type pipeEnd struct{ in, out *stream }

func (p *pipeEnd) Read(b []byte) (int, error) {
	for {
		p.in.mu.Lock()
		deadline := p.in.deadline
		switch {
		case len(p.in.buf) > 0:
			n := copy(b, p.in.buf)
			p.in.buf = p.in.buf[n:]
			p.in.mu.Unlock()
			return n, nil
		case p.in.closed:
			p.in.mu.Unlock()
			return 0, io.EOF
		case !deadline.IsZero() && !time.Now().Before(deadline):
			p.in.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		}
		p.in.mu.Unlock()
		var late <-chan time.Time
		if !deadline.IsZero() {
			timer := time.NewTimer(time.Until(deadline))
			late = timer.C
			defer timer.Stop()
		}
		select {
		case <-p.in.wake:
		case <-late:
		}
	}
}

func (p *pipeEnd) Write(b []byte) (int, error) {
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	if p.out.closed {
		return 0, io.ErrClosedPipe
	}
	p.out.buf = append(p.out.buf, b...)
	p.out.notify()
	return len(b), nil
}

func (p *pipeEnd) Close() error {
	for _, s := range []*stream{p.in, p.out} {
		s.mu.Lock()
		s.closed = true
		s.notify()
		s.mu.Unlock()
	}
	return nil
}

func (p *pipeEnd) SetReadDeadline(t time.Time) error {
	p.in.mu.Lock()
	p.in.deadline = t
	p.in.notify()
	p.in.mu.Unlock()
	return nil
}

func (p *pipeEnd) SetDeadline(t time.Time) error      { return p.SetReadDeadline(t) }
func (p *pipeEnd) SetWriteDeadline(t time.Time) error { return nil }
func (p *pipeEnd) LocalAddr() net.Addr                { return &net.UnixAddr{} }
func (p *pipeEnd) RemoteAddr() net.Addr               { return &net.UnixAddr{} }
