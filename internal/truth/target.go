// Package truth holds the program against simulated targets: it records their
// traffic and replays it, and keeps what really happened beside what the
// program says. The end-to-end tests and the bench share it.
package truth

import (
	"context"
	"net"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/sim"
)

// Target is a simulated server of this process.
type Target struct {
	*sim.Server
	Addr  string
	stop  context.CancelFunc
	ended chan error
}

// Start starts a simulated server on a free port.
func Start(o sim.Options) (*Target, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &Target{Server: sim.New(o), Addr: l.Addr().String(), stop: cancel, ended: make(chan error, 1)}
	go func() { t.ended <- t.Serve(ctx, l) }()
	return t, nil
}

// URL is where it can be found.
func (t *Target) URL() string { return "postgres://" + dbtest.User + "@" + t.Addr }

// Stop ends it and tells what it did.
func (t *Target) Stop() (sim.Truth, error) {
	t.stop()
	err := <-t.ended
	return t.Truth(), err
}
