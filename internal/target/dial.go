package target

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// Dial opens a connection on which nothing of the protocol has been spoken, for
// a proxy. It is encrypted as the TLS mode says: with allow it is not, with
// prefer where the server can. at is the place of another connection of the
// target's; nil leaves the choice.
func (t *Target) Dial(ctx context.Context, at net.Addr) (net.Conn, error) {
	config := t.config.Copy()
	if at != nil {
		dial := config.DialFunc
		config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx, at.Network(), at.String())
		}
	}
	return t.dial(ctx, config)
}

var errDialed = errors.New("dialed")

// dial uses the library's own host and TLS negotiation and takes the connection
// away before it begins to log in.
func (t *Target) dial(ctx context.Context, config *pgconn.Config) (net.Conn, error) {
	var dialed net.Conn
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dialed != nil {
			return nil, errDialed // no further place is tried
		}
		return dial(ctx, network, address)
	}
	config.AfterNetConnect = func(ctx context.Context, config *pgconn.Config, c net.Conn) (net.Conn, error) {
		if err := handshake(ctx, config, c); err != nil {
			return c, err
		}
		dialed = c
		return kept{}, errDialed
	}
	_, err := pgconn.ConnectConfig(ctx, config)
	if dialed != nil {
		return dialed, nil
	}
	return nil, t.MapError(err)
}

// kept is closed by the library in place of a connection that was taken away.
type kept struct{ net.Conn }

func (kept) Close() error { return nil }

const codeCancel = 80877102

// Cancel asks the server of a connection to cancel what runs on it. The server
// answers nothing: that it returns means only that the request has arrived.
func (t *Target) Cancel(ctx context.Context, c *Conn) error {
	config := t.config.Copy()
	alternatives(config, c.tls)
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, c.network, c.address)
	}
	conn, err := t.dial(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := conn.Write(cancelPacket(c)); err != nil {
		return fmt.Errorf("cannot send a cancel request to %s: %w", t, err)
	}
	// The server closes once it has sent the signal.
	_, _ = conn.Read(make([]byte, 1))
	return nil
}

func cancelPacket(c *Conn) []byte {
	packet := binary.BigEndian.AppendUint32(nil, uint32(12+len(c.Key)))
	packet = binary.BigEndian.AppendUint32(packet, codeCancel)
	packet = binary.BigEndian.AppendUint32(packet, c.PID)
	return append(packet, c.Key...)
}
