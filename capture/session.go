package capture

import (
	"net"
)

// Why a session ended, where no message said so.
const (
	clientGone = "client_gone"
	serverGone = "server_gone"
	drained    = "drained"
)

// session is one client's connection and its own to the target.
type session struct {
	proxy          *Proxy
	client, server net.Conn
	upstream       net.Addr
	tap            *tap // nil: not recorded
	route          *route
}

func (p *Proxy) tap(s *session) *tap {
	if p.options.Recorder == nil {
		return nil
	}
	return p.options.Recorder.session(func(pid uint32, key []byte) { s.route = p.routes.add(s, pid, key) })
}

// The pump shows a session what went by; what becomes of it is no concern of
// the pump's.

func (s *session) seeClient(b []byte, now int64) {
	s.proxy.up.Add(int64(len(b)))
	if s.tap != nil {
		s.tap.client(b, now)
	}
}

func (s *session) seeServer(b []byte, now int64) {
	s.proxy.down.Add(int64(len(b)))
	if s.tap != nil {
		s.tap.server(b, now)
	}
}

func (s *session) seeEnd(now int64, reason string) {
	if s.tap != nil {
		s.tap.end(now, reason)
	}
}

// idle: the session can be let go without taking anything from its client.
func (s *session) idle() bool { return s.tap == nil || s.tap.idle() }

// ended is called once by the pump, after both connections are closed and all
// bytes were shown.
func (s *session) ended(reason string) {
	s.seeEnd(s.proxy.options.Now(), reason)
	s.proxy.routes.remove(s.route)
	s.proxy.conns.Add(-1)
	s.proxy.live.Add(-1)
	s.proxy.running.Done()
}
