package replay

import (
	"context"
	"net"
	"sync"
	"time"
)

// spy notes when replay sends and receives what, on the way to another
// connector. It understands simple queries only.
type spy struct {
	connector
	mu    sync.Mutex
	conns []*spied
}

type spied struct {
	net.Conn
	s       *spy
	name    string // application_name
	opened  time.Time
	closed  time.Time
	sent    []sentSQL
	replies []time.Time // to the queries, in order
	out, in []byte
}

func (s *spy) connect(ctx context.Context, database, user string, settings map[string]string) (net.Conn, func(context.Context) error, error) {
	c, shoot, err := s.connector.connect(ctx, database, user, settings)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &spied{Conn: c, s: s, name: settings["application_name"], opened: time.Now()}
	s.conns = append(s.conns, own)
	return own, shoot, nil
}

// messages takes the whole messages off the front of b.
func messages(b []byte, got func(kind byte, body []byte)) []byte {
	for {
		kind, body, rest, ok := nextMessage(b)
		if !ok {
			return b
		}
		got(kind, body)
		b = rest
	}
}

func (c *spied) Write(b []byte) (int, error) {
	now := time.Now()
	c.s.mu.Lock()
	c.out = messages(append(c.out, b...), func(kind byte, body []byte) {
		if kind == 'Q' {
			c.sent = append(c.sent, sentSQL{at: now, sql: string(body[:len(body)-1])})
		}
	})
	c.s.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *spied) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	now := time.Now()
	c.s.mu.Lock()
	c.in = messages(append(c.in, b[:n]...), func(kind byte, _ []byte) {
		if kind == 'Z' {
			c.replies = append(c.replies, now)
		}
	})
	c.s.mu.Unlock()
	return n, err
}

// of is the connection of the session of that name.
func (s *spy) of(name string) *spied {
	for _, c := range s.conns {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (c *spied) Close() error {
	c.s.mu.Lock()
	if c.closed.IsZero() {
		c.closed = time.Now()
	}
	c.s.mu.Unlock()
	return c.Conn.Close()
}
