package capture

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
)

// Options of a proxy. Zero values are usable but for Dial.
type Options struct {
	Target   string                                                 // named in messages, without secrets
	Dial     func(_ context.Context, at net.Addr) (net.Conn, error) // to where another connection is; nil: anywhere
	TLS      *tls.Config                                            // see ServerTLS; nil: not offered to clients
	Recorder *Recorder                                              // nil: pass on without recording
	Log      *slog.Logger

	MaxConns         int           // default: what the limit of open files allows
	HandshakeTimeout time.Duration // until the start packet is complete; default 10 s
	ConnectTimeout   time.Duration // to reach the target; default 15 s
	DrainTimeout     time.Duration // for sessions to become idle at the end; default 5 s
	LingerTimeout    time.Duration // for the other side to close too; default 5 s
	Hurry            <-chan struct{}
	Portable         bool // use the goroutine pump where a faster one exists
	Now              func() int64
}

func (o *Options) complete() {
	def := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	def(&o.HandshakeTimeout, 10*time.Second)
	def(&o.ConnectTimeout, 15*time.Second)
	def(&o.DrainTimeout, 5*time.Second)
	def(&o.LingerTimeout, 5*time.Second)
	if o.MaxConns <= 0 {
		o.MaxConns = connsAllowed()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = clock.NewTimers().Now
	}
}

// Proxy passes the sessions of its clients on to the target, each on a
// connection of its own.
type Proxy struct {
	options  Options
	listener net.Listener
	pumps    []pump // the first is the fastest
	routes   routes
	turned   chan struct{} // room for clients that are told there is no room

	warnOfBinding sync.Once

	conns   atomic.Int64 // accepted and not closed, sessions or not
	closing atomic.Bool
	running sync.WaitGroup
	counts
}

// counts are what a proxy reports of itself.
type counts struct {
	live, sessions, cancels, refused, failed atomic.Int64
	up, down                                 atomic.Int64 // bytes
}

// Counts is a reading of a proxy's counters.
type Counts struct {
	Live     int64 // sessions now
	Sessions int64 // so far
	Cancels  int64 // cancel requests
	Refused  int64 // connections that spoke no PostgreSQL, or TLS that could not be, or too slowly, or were too many
	Failed   int64 // sessions for which the target could not be reached
	Conns    int64 // connections now, sessions or not
	Up, Down int64 // bytes from clients, and to them
}

// Listen opens an address for a proxy.
func Listen(address string) (net.Listener, error) {
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
			network = "tcp4" // else 0.0.0.0 would take in IPv6, too
		}
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, listenReason(err))
	}
	return l, nil
}

// New makes a proxy of a listener. Serve must follow.
func New(l net.Listener, o Options) *Proxy {
	o.complete()
	return &Proxy{options: o, listener: l, turned: make(chan struct{}, 64)}
}

// listenReason leaves out what the caller says already.
func listenReason(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) {
		return err
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: another program listens there; give --listen another port", op.Err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w: this machine does not have that address", op.Err)
	}
	return op.Err
}

// Counts reads the proxy's counters.
func (p *Proxy) Counts() Counts {
	c := &p.counts
	return Counts{c.live.Load(), c.sessions.Load(), c.cancels.Load(), c.refused.Load(), c.failed.Load(), p.conns.Load(), c.up.Load(), c.down.Load()}
}

// Serve passes sessions on until ctx is done; then it lets them go as they
// become idle, and the rest when DrainTimeout is over or Hurry is closed. It
// returns when all have ended. The recorder is not closed.
func (p *Proxy) Serve(ctx context.Context) error {
	pumps, err := p.startPumps()
	if err != nil {
		return errors.Join(err, p.listener.Close())
	}
	p.pumps = pumps
	accepted := make(chan error, 1)
	handshakes, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	go func() { accepted <- p.accept(handshakes) }()
	select {
	case <-ctx.Done():
	case err = <-accepted:
		accepted <- err
	}
	err = errors.Join(err, ignoreClosed(p.listener.Close()))
	err = errors.Join(err, ignoreClosed(<-accepted))
	p.drain(giveUp)
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// drain ends all sessions, those that are idle first.
func (p *Proxy) drain(giveUp func()) {
	p.closing.Store(true)
	for _, pump := range p.pumps {
		pump.drain()
	}
	ended := make(chan struct{})
	go func() { p.running.Wait(); close(ended) }()
	timeout := time.NewTimer(p.options.DrainTimeout)
	defer timeout.Stop()
	select {
	case <-ended:
	case <-timeout.C:
	case <-p.options.Hurry:
	}
	giveUp()
	for _, pump := range p.pumps {
		pump.stop()
	}
	<-ended
	for _, pump := range p.pumps {
		pump.wait()
	}
}

// accept takes connections until the listener is closed. Nothing that happens
// to one connection, and no lack of file descriptors, ends it.
func (p *Proxy) accept(ctx context.Context) error {
	const shortest, longest = 5 * time.Millisecond, time.Second
	pause, trouble := shortest, ""
	for {
		c, err := p.listener.Accept()
		switch {
		case err == nil:
			if trouble != "" {
				p.options.Log.Info("connections are accepted again")
			}
			pause, trouble = shortest, ""
			p.conns.Add(1)
			p.running.Go(func() { p.welcome(ctx, c) })
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			if trouble != err.Error() { // said once, however long it lasts
				trouble = err.Error()
				p.options.Log.Warn("cannot accept a connection, will try again", "error", err)
			}
			time.Sleep(pause)
			pause = min(2*pause, longest)
		}
	}
}
