package replay

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/retrace-db/retrace/internal/target"
)

// fake is a server that speaks enough of the protocol to be replayed against:
// transactions, errors, pipelines, prepared statements, COPY. It keeps what it
// was sent.
type fake struct {
	work func(sql string) time.Duration // how long a statement takes
	fail func(sql string) string        // its SQLSTATE, or ""
	drop func(sql string) bool          // whether the connection breaks on it
	full func(n int) bool               // whether the nth connection is refused

	forget bool // keep nothing of what was sent

	mu       sync.Mutex
	conns    int
	open     int
	most     int
	got      []sentSQL
	settings []map[string]string
	users    []string
	shots    int
	done     sync.WaitGroup
}

// sentSQL is a statement the server ran or refused.
type sentSQL struct {
	conn int
	at   time.Time
	sql  string
}

func (f *fake) connect(_ context.Context, _, user string, settings map[string]string) (net.Conn, func(context.Context) error, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.conns
	f.conns++
	if f.full != nil && f.full(n) {
		return nil, nil, &target.Error{Class: target.Full, SQLState: "53300"}
	}
	f.open++
	f.most = max(f.most, f.open)
	f.settings = append(f.settings, settings)
	f.users = append(f.users, user)
	client, server := bufferedPipe()
	c := &fakeConn{f: f, n: n, in: bufio.NewReader(server), conn: server, state: 'I', statements: map[string]string{}, cancel: make(chan struct{}, 1)}
	f.done.Go(func() {
		c.serve()
		f.mu.Lock()
		f.open--
		f.mu.Unlock()
		_ = server.Close()
	})
	return client, func(context.Context) error {
		f.mu.Lock()
		f.shots++
		f.mu.Unlock()
		select {
		case c.cancel <- struct{}{}:
		default:
		}
		return nil
	}, nil
}

// sql lists what was run, of all connections or of one.
func (f *fake) sql(conn int) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, s := range f.got {
		if conn < 0 || s.conn == conn {
			all = append(all, s.sql)
		}
	}
	return all
}

type fakeConn struct {
	f          *fake
	n          int
	in         *bufio.Reader
	conn       net.Conn
	out        []byte
	state      byte
	statements map[string]string
	bound      string
	skipping   bool // until Sync
	copying    bool
	extended   bool // the COPY
	cancel     chan struct{}
}

func (c *fakeConn) reply(kind byte, body string) { c.out = append(c.out, message(kind, body)...) }

func (c *fakeConn) flush() error {
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

func (c *fakeConn) serve() {
	for {
		var header [5]byte
		if _, err := io.ReadFull(c.in, header[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
		if _, err := io.ReadFull(c.in, body); err != nil {
			return
		}
		if c.message(header[0], string(body)) != nil {
			return
		}
	}
}

var errOver = errors.New("over")

func (c *fakeConn) message(kind byte, body string) error {
	if c.copying {
		return c.copyMessage(kind)
	}
	if c.skipping && kind != 'S' && kind != 'X' {
		return nil
	}
	switch kind {
	case 'X':
		return errOver
	case 'Q':
		if err := c.run(strings.TrimRight(body, "\x00")); err != nil {
			return err
		}
		c.skipping = false // that is for pipelines
		if c.copying {
			c.extended = false
			return c.flush()
		}
		c.ready()
		return c.flush()
	case 'P':
		c.parse(body)
	case 'B':
		c.bind(body)
	case 'D':
		c.reply('n', "")
	case 'E':
		if err := c.run(c.bound); err != nil {
			return err
		}
		if c.copying {
			c.extended = true
			return c.flush()
		}
	case 'C':
		name, _, _ := strings.Cut(body[1:], "\x00")
		delete(c.statements, name)
		c.reply('3', "")
	case 'S':
		c.skipping = false
		c.ready()
		return c.flush()
	case 'H':
		return c.flush()
	}
	if c.skipping {
		return c.flush()
	}
	return nil
}

// ready ends an implicit transaction.
func (c *fakeConn) ready() { c.reply('Z', string(c.state)) }

func (c *fakeConn) failed(code string) {
	c.reply('E', "SERROR\x00C"+code+"\x00Mno\x00\x00")
	if c.state == 'T' {
		c.state = 'E'
	}
}

func (c *fakeConn) parse(body string) {
	name, rest, _ := strings.Cut(body, "\x00")
	sql, _, _ := strings.Cut(rest, "\x00")
	if c.f.fail != nil && c.f.fail("parse "+sql) != "" {
		c.failed(c.f.fail("parse " + sql))
		c.skipping = true
		return
	}
	if c.state == 'E' && !endsTransaction(sql) {
		c.failed("25P02")
		c.skipping = true
		return
	}
	if _, there := c.statements[name]; there && name != "" {
		c.failed("42P05")
		c.skipping = true
		return
	}
	c.statements[name] = sql
	c.reply('1', "")
}

func (c *fakeConn) bind(body string) {
	_, rest, _ := strings.Cut(body, "\x00")
	name, _, _ := strings.Cut(rest, "\x00")
	sql, ok := c.statements[name]
	if !ok {
		c.failed("26000")
		c.skipping = true
		return
	}
	c.bound = sql
	c.reply('2', "")
}

// run runs a statement.
func (c *fakeConn) run(sql string) error {
	if !c.f.forget {
		c.f.mu.Lock()
		c.f.got = append(c.f.got, sentSQL{c.n, time.Now(), sql})
		c.f.mu.Unlock()
	}
	if c.f.drop != nil && c.f.drop(sql) {
		return errOver
	}
	first, rest := keyword(sql)
	if c.state == 'E' && !endsTransaction(sql) {
		c.failed("25P02")
		c.skipping = true
		return nil
	}
	if c.pause(sql) {
		c.failed("57014")
		c.skipping = true
		return nil
	}
	if c.f.fail != nil {
		if code := c.f.fail(sql); code != "" {
			c.failed(code)
			c.skipping = true
			return nil
		}
	}
	c.succeed(first, rest)
	return nil
}

// pause works, and tells whether it was cancelled.
func (c *fakeConn) pause(sql string) bool {
	if c.f.work == nil {
		return false
	}
	select { // a cancel for an idle session does nothing
	case <-c.cancel:
	default:
	}
	select {
	case <-time.After(c.f.work(sql)):
		return false
	case <-c.cancel:
		return true
	}
}

func (c *fakeConn) succeed(first, rest string) {
	tag := first
	switch first {
	case "BEGIN":
		c.state = 'T'
	case "COMMIT", "END":
		tag = "COMMIT"
		if c.state == 'E' {
			tag = "ROLLBACK"
		}
		c.state = 'I'
	case "ROLLBACK":
		c.state = 'I'
		if to, _ := keyword(rest); to == "TO" {
			c.state = 'T'
		}
	case "SELECT":
		tag = "SELECT 1"
	case "INSERT":
		tag = "INSERT 0 1"
	case "COPY":
		c.copying = true
		c.reply('G', "\x00\x00\x00")
		return
	}
	c.reply('C', tag+"\x00")
}

func (c *fakeConn) copyMessage(kind byte) error {
	switch kind {
	case 'c':
		c.copying = false
		c.reply('C', "COPY 1\x00")
	case 'f':
		c.copying = false
		c.failed("57014")
		c.skipping = c.extended
	default:
		return nil
	}
	if !c.extended {
		c.ready()
	}
	return c.flush()
}
