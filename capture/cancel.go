package capture

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/retrace-db/retrace/internal/wire/pg"
)

// routes knows which session a cancel key belongs to. A cancel request comes on
// a connection of its own, and must reach the very server that gave the key.
type routes struct {
	mu    sync.Mutex
	byKey map[string]*route
}

type route struct {
	key     string
	session *session
}

func routeKey(pid uint32, key []byte) string {
	return string(append([]byte{byte(pid >> 24), byte(pid >> 16), byte(pid >> 8), byte(pid)}, key...))
}

func (r *routes) add(s *session, pid uint32, key []byte) *route {
	n := &route{routeKey(pid, key), s}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey == nil {
		r.byKey = map[string]*route{}
	}
	r.byKey[n.key] = n
	return n
}

func (r *routes) remove(n *route) {
	if n == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// The server may have given the same key to a later session.
	if r.byKey[n.key] == n {
		delete(r.byKey, n.key)
	}
}

func (r *routes) find(pid uint32, key []byte) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.byKey[routeKey(pid, key)]; n != nil {
		return n.session
	}
	return nil
}

// cancelTimeout bounds how long a cancel request may take to be delivered.
const cancelTimeout = 15 * time.Second

// passCancel delivers a cancel request as it is and records whom it was meant
// for. The client is let go when the server has closed: that is how it knows
// that the request has arrived.
func (p *Proxy) passCancel(ctx context.Context, c net.Conn, packet []byte, now int64) {
	defer p.gone(c)
	p.cancels.Add(1)
	pid, key, err := pg.ParseCancel(packet)
	if err != nil {
		p.refused.Add(1)
		return
	}
	victim := p.routes.find(pid, key)
	target, running, sure := victim.aim()
	left := victim.leftOut(p.options.Recorder)
	ctx, stop := context.WithTimeout(ctx, cancelTimeout)
	defer stop()
	p.deliver(ctx, victim, packet)
	if p.options.Recorder == nil {
		return
	}
	if left != "" {
		p.options.Recorder.passed(left, 1, 1)
		return
	}
	if !sure {
		// The session, or its request, may be so new that it was not known yet.
		target, running, _ = p.routes.find(pid, key).aim()
	}
	p.options.Recorder.cancel(target, running, now, p.options.Now())
}

// leftOut says why a cancel request for the session is not to be recorded, or "".
func (s *session) leftOut(r *Recorder) string {
	switch {
	case r == nil:
		return ""
	case s != nil && s.tap != nil:
		return s.tap.leftOut()
	case r.off.Load():
		return whyOff
	}
	return ""
}

// aim names what a cancel request for the session hits: the session and its
// event; zeros for no session. sure is true when it waits for that event.
func (s *session) aim() (session, ordinal uint64, sure bool) {
	if s == nil || s.tap == nil {
		return 0, 0, false
	}
	ordinal, sure = s.tap.running()
	return s.tap.life.id, ordinal, sure
}

// deliver sends the request to where the victim is connected, or for want of
// one to the target, and waits for the server to close.
func (p *Proxy) deliver(ctx context.Context, victim *session, packet []byte) {
	var at net.Addr
	if victim != nil {
		at = victim.upstream
	}
	server, err := p.dial(ctx, at)
	if err != nil {
		p.failed.Add(1)
		p.options.Log.Warn("cannot deliver a cancel request", "target", p.options.Target, "error", err)
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if _, err := server.Write(packet); err == nil {
		_, _ = io.Copy(io.Discard, server)
	}
}
