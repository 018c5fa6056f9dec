package capture

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pump moves the bytes of sessions, both ways and independently of each other:
// what one read brings goes on in one write, and is then shown to the session.
// A side that does not take its bytes holds up the other side's reading and
// nothing else.
type pump interface {
	// add takes over both connections of a session, or returns false because
	// they are of a kind it cannot serve.
	add(*session) bool
	// drain ends sessions as they become idle.
	drain()
	// stop ends all sessions now.
	stop()
	// wait returns when the pump itself has come to an end.
	wait()
}

// drainCheck is how often a session that is to be let go is looked at.
const drainCheck = 10 * time.Millisecond

// relays is the pump that works everywhere: two goroutines per session.
type relays struct {
	options *Options
	running sync.WaitGroup

	mu       sync.Mutex
	sessions map[*relay]struct{}
	draining atomic.Bool
	stopped  bool
}

func newRelays(o *Options) *relays { return &relays{options: o, sessions: map[*relay]struct{}{}} }

func (p *relays) add(s *session) bool {
	r := &relay{session: s, pump: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		r.close()
	}
	p.sessions[r] = struct{}{}
	p.running.Go(r.run)
	return true
}

func (p *relays) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining.Store(true)
	for r := range p.sessions {
		_ = r.session.client.SetReadDeadline(time.Now())
	}
}

func (p *relays) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for r := range p.sessions {
		r.because(drained)
		r.close()
	}
}

func (p *relays) wait() { p.running.Wait() }

// relay is one session in the goroutine pump.
type relay struct {
	session *session
	pump    *relays
	reason  atomic.Pointer[string]
	linger  atomic.Bool
}

// because keeps the first reason for the session's end.
func (r *relay) because(reason string) { r.reason.CompareAndSwap(nil, &reason) }

func (r *relay) close() {
	_ = r.session.client.Close()
	_ = r.session.server.Close()
}

func (r *relay) run() {
	var down sync.WaitGroup
	down.Go(r.down)
	r.up()
	down.Wait()
	r.close()
	r.pump.mu.Lock()
	delete(r.pump.sessions, r)
	r.pump.mu.Unlock()
	r.session.ended(*r.reason.Load())
}

const relayBuffer = 16 << 10

var relayBuffers = sync.Pool{New: func() any { return new([relayBuffer]byte) }}

// up moves what the client sends, until one of both is gone.
func (r *relay) up() {
	s := r.session
	buf := relayBuffers.Get().(*[relayBuffer]byte)
	defer relayBuffers.Put(buf)
	if r.pump.draining.Load() {
		_ = s.client.SetReadDeadline(time.Now())
	}
	for {
		n, err := s.client.Read(buf[:])
		if n > 0 {
			now := r.pump.options.Now()
			_, wrong := s.server.Write(buf[:n])
			s.seeClient(buf[:n], now)
			if wrong != nil {
				r.because(serverGone) // what the server said last is still to come
				r.lastWords(s.server)
				return
			}
			r.stillSpeaking(s.client)
		}
		if err != nil && !r.patient(err) {
			r.over(err, clientGone, s.server)
			return
		}
	}
}

// patient tells whether a read that ended in err is to be repeated: it was
// interrupted to see whether the session can be let go, and it cannot yet.
func (r *relay) patient(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || r.linger.Load() {
		return false
	}
	if r.session.idle() {
		r.because(drained)
		r.close()
		return false
	}
	_ = r.session.client.SetReadDeadline(time.Now().Add(drainCheck))
	return true
}

// down moves what the server sends.
func (r *relay) down() {
	s := r.session
	buf := relayBuffers.Get().(*[relayBuffer]byte)
	defer relayBuffers.Put(buf)
	for {
		n, err := s.server.Read(buf[:])
		if n > 0 {
			now := r.pump.options.Now()
			_, wrong := s.client.Write(buf[:n])
			s.seeServer(buf[:n], now)
			if wrong != nil {
				r.because(clientGone)
				r.lastWords(s.client)
				return
			}
			r.stillSpeaking(s.server)
		}
		if err != nil {
			r.over(err, serverGone, s.client)
			if finished(err) {
				r.lastWords(s.client)
			}
			return
		}
	}
}

// over ends one direction: the end of its stream is passed on, anything else
// ends the session.
func (r *relay) over(err error, reason string, to net.Conn) {
	r.because(reason)
	if finished(err) {
		closeWrite(to)
		return
	}
	r.close()
}

// finished tells whether a stream has ended and not broken. One under TLS also
// ends within a record, when its program was killed.
func finished(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// stillSpeaking gives a side that was given a moment another one.
func (r *relay) stillSpeaking(c net.Conn) {
	if r.linger.Load() {
		r.lastWords(c)
	}
}

// lastWords gives a side that takes nothing more a moment to finish speaking.
func (r *relay) lastWords(c net.Conn) {
	r.linger.Store(true)
	_ = c.SetReadDeadline(time.Now().Add(r.pump.options.LingerTimeout))
}
