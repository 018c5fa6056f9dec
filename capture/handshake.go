package capture

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/retrace-db/retrace/internal/wire/pg"
)

// negotiations is how often a client may ask for encryption before it must
// begin: once for each kind, and once more for those that forget.
const negotiations = 4

// refusal is a connection that cannot become a session, and what to tell it.
type refusal struct {
	word   []byte // nil where there is nothing sensible to say
	reason string // for the log
}

func (r *refusal) Error() string { return r.reason }

func refuse(code, message, hint string) *refusal {
	return &refusal{fatal(code, message, hint), message}
}

// startPacket leads a connection to its start packet or cancel request, through
// TLS where the client asks for it and there is a certificate. Encryption is
// declined otherwise, in whatever order it is asked for. The connection to go on
// with is returned, in any case.
func startPacket(ctx context.Context, c net.Conn, config *tls.Config) (conn net.Conn, packet []byte, code uint32, err error) {
	encrypted := false
	for range negotiations + 1 {
		var first [1]byte
		if _, err := io.ReadFull(c, first[:]); err != nil {
			return c, nil, 0, silent(err)
		}
		if first[0] == 0x16 && !encrypted {
			if c, err = encryptAtOnce(ctx, c, first[:], config); err != nil {
				return c, nil, 0, err
			}
			encrypted = true
			continue
		}
		packet, code, err := pg.ReadStartup(io.MultiReader(bytes.NewReader(first[:]), c))
		switch {
		case err != nil:
			return c, nil, 0, notStart(err)
		case code != pg.CodeSSL && code != pg.CodeGSS:
			return c, packet, code, nil
		case encrypted:
			return c, nil, 0, refuse(codeProtocol, "client asks for encryption inside of TLS", "")
		}
		if code == pg.CodeSSL && config != nil {
			if c, err = accept(ctx, c, config); err != nil {
				return c, nil, 0, err
			}
			encrypted = true
			continue
		}
		if _, err := c.Write([]byte{'N'}); err != nil {
			return c, nil, 0, silent(err)
		}
	}
	return c, nil, 0, refuse(codeProtocol, "client asks for encryption over and over", "")
}

// silent is a connection that went away or fell asleep.
func silent(err error) *refusal {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse(codeProtocol, "no start packet came in time", "")
	}
	return &refusal{reason: fmt.Sprintf("client closed before a start packet: %v", err)}
}

// notStart tells a broken connection from one that speaks something else.
func notStart(err error) *refusal {
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return silent(err)
	}
	return refuse(codeProtocol, "this is not the PostgreSQL protocol: "+err.Error(), "retrace capture expects PostgreSQL clients here")
}

// welcome serves one connection from accept to the end of its handshake. The
// session that may follow lives in a pump.
func (p *Proxy) welcome(ctx context.Context, c net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	over := p.conns.Load() > int64(p.options.MaxConns)
	if over {
		select {
		case p.turned <- struct{}{}:
			defer func() { <-p.turned }()
		default: // not even room to say so
			p.refused.Add(1)
			p.gone(c)
			return
		}
	}
	_ = c.SetDeadline(time.Now().Add(p.options.HandshakeTimeout))
	c, packet, code, err := startPacket(ctx, c, p.options.TLS)
	now := p.options.Now()
	if err == nil && p.closing.Load() {
		err = refuse(codeClosing, "retrace capture is ending", "connect to the database itself")
	}
	if err == nil && over && code != pg.CodeCancel {
		err = refuse(codeFull, fmt.Sprintf("retrace capture has reached its %d connections", p.options.MaxConns), "raise --max-connections or the limit of open files")
	}
	if err != nil {
		p.turnAway(c, err)
		return
	}
	_ = c.SetDeadline(time.Time{})
	if code == pg.CodeCancel {
		p.passCancel(ctx, c, packet, now)
		return
	}
	p.begin(ctx, c, packet, now)
}

// turnAway ends a connection that does not become a session.
func (p *Proxy) turnAway(c net.Conn, err error) {
	defer p.conns.Add(-1)
	var r *refusal
	if !errors.As(err, &r) || r.word == nil {
		_ = c.Close() // a health check, as like as not
		return
	}
	p.refused.Add(1)
	p.options.Log.Info("refused a connection", "client", c.RemoteAddr(), "reason", err)
	dismiss(c, r.word)
}

// gone closes a connection and takes it off the count.
func (p *Proxy) gone(c net.Conn) {
	_ = c.Close()
	p.conns.Add(-1)
}

// begin connects a client to the target and hands both ends to a pump.
func (p *Proxy) begin(ctx context.Context, c net.Conn, packet []byte, now int64) {
	s := &session{proxy: p, client: c}
	s.tap = p.tap(s)
	s.seeClient(packet, now)
	server, err := p.dial(ctx, nil)
	if err != nil {
		p.failedBegin(s, err)
		return
	}
	s.server, s.upstream = p.unbind(c, server), server.RemoteAddr()
	if _, err := server.Write(packet); err != nil {
		_ = server.Close()
		p.failedBegin(s, fmt.Errorf("%s: %w", p.options.Target, err))
		return
	}
	p.sessions.Add(1)
	p.live.Add(1)
	p.running.Add(1) // until session.ended
	for _, pump := range p.pumps {
		if pump.add(s) {
			return
		}
	}
}

func (p *Proxy) dial(ctx context.Context, at net.Addr) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.ConnectTimeout)
	defer cancel()
	return p.options.Dial(ctx, at)
}

// failedBegin tells a client why its session cannot be, and records it so.
func (p *Proxy) failedBegin(s *session, err error) {
	p.failed.Add(1)
	p.options.Log.Warn("cannot reach the target", "target", p.options.Target, "error", err)
	word := fatal(codeTarget, "retrace capture: "+err.Error(), "is the target of retrace capture up, and does its sslmode suit it?")
	s.seeServer(word, p.options.Now())
	s.seeEnd(p.options.Now(), "server_gone")
	dismiss(s.client, word)
	p.conns.Add(-1)
}
