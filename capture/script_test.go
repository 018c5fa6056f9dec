package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgproto3/v2"
)

// step of a byte script: bytes to send in one write, and how many messages of
// which type to wait for afterwards.
type scriptStep struct {
	send  []byte
	await string // type bytes, in order, others in between allowed; "$" is the end of the stream
	pause time.Duration
}

// script is a session as bytes.
type script struct {
	name    string
	start   map[string]string
	version uint32 // of the protocol; 0: 3.0
	steps   []scriptStep
}

func msgs(all ...pgproto3.FrontendMessage) []byte {
	var b []byte
	for _, m := range all {
		b = encode(b, m)
	}
	return b
}

func encode(b []byte, m pgproto3.FrontendMessage) []byte {
	b, err := m.Encode(b)
	if err != nil {
		panic(err)
	}
	return b
}

func query(sql string) *pgproto3.Query { return &pgproto3.Query{String: sql} }
func parse(name, sql string, oids ...uint32) *pgproto3.Parse {
	return &pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: oids}
}

func bind(portal, statement string, values ...string) *pgproto3.Bind {
	b := &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: statement}
	for _, v := range values {
		b.Parameters = append(b.Parameters, []byte(v))
	}
	return b
}

func execute(portal string, rows ...uint32) *pgproto3.Execute {
	e := &pgproto3.Execute{Portal: portal}
	if len(rows) > 0 {
		e.MaxRows = rows[0]
	}
	return e
}

func describe(kind byte, name string) *pgproto3.Describe {
	return &pgproto3.Describe{ObjectType: kind, Name: name}
}

func closing(kind byte, name string) *pgproto3.Close {
	return &pgproto3.Close{ObjectType: kind, Name: name}
}

var (
	syncMsg   = &pgproto3.Sync{}
	flushMsg  = &pgproto3.Flush{}
	terminate = &pgproto3.Terminate{}
	copyDone  = &pgproto3.CopyDone{}
)

// reply is one message of the server.
type reply struct {
	kind byte
	body []byte
}

// player runs scripts against an address and keeps what comes back.
type player struct {
	conn net.Conn
	got  []reply
}

func (s script) startPacket() []byte {
	parameters := map[string]string{"user": "postgres", "database": "postgres"}
	for k, v := range s.start {
		parameters[k] = v
	}
	if s.version == 0 {
		s.version = pgproto3.ProtocolVersionNumber
	}
	return encode(nil, &pgproto3.StartupMessage{ProtocolVersion: s.version, Parameters: parameters})
}

// play runs the script. write sends bytes, so that a caller can split them;
// heard is shown the replies of each step.
func (s script) play(t testing.TB, addr string, write func(net.Conn, []byte) error, heard ...func([]reply)) []reply {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if write == nil {
		write = func(c net.Conn, b []byte) error { _, err := c.Write(b); return err }
	}
	p := &player{conn: c}
	login := "Z"
	if s.steps == nil { // the login is to fail
		login = "$"
	}
	steps := append([]scriptStep{{send: s.startPacket(), await: login}}, s.steps...)
	for i, step := range steps {
		if err := write(c, step.send); err != nil {
			t.Fatalf("%s, step %d: %v", s.name, i, err)
		}
		before := len(p.got)
		if err := p.await(step.await); err != nil {
			t.Fatalf("%s, step %d, waiting for %q: %v; have %s", s.name, i, step.await, err, kinds(p.got))
		}
		for _, h := range heard {
			h(p.got[before:])
		}
		time.Sleep(step.pause)
	}
	return p.got
}

func (p *player) await(wanted string) error {
	_ = p.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	for len(wanted) > 0 {
		m, err := p.read()
		if err == io.EOF && wanted == "$" {
			return nil
		}
		if err != nil {
			return err
		}
		p.got = append(p.got, m)
		if m.kind == wanted[0] {
			wanted = wanted[1:]
		}
	}
	return nil
}

func (p *player) read() (reply, error) {
	var head [5]byte
	if _, err := io.ReadFull(p.conn, head[:]); err != nil {
		return reply{}, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, err := io.ReadFull(p.conn, body)
	return reply{head[0], body}, err
}

func kinds(all []reply) string {
	var b []byte
	for _, m := range all {
		b = append(b, m.kind)
	}
	return string(b)
}

// mask blanks what two runs of the same script cannot have in common: process
// ids and keys.
func mask(m reply) reply {
	b := bytes.Clone(m.body)
	switch m.kind {
	case 'K':
		clear(b)
	case 'A':
		clear(b[:4])
	}
	return reply{m.kind, b}
}

// sameReplies compares what a script got directly and through the proxy.
func sameReplies(t *testing.T, direct, proxied []reply) {
	t.Helper()
	if kinds(direct) != kinds(proxied) {
		t.Fatalf("direct  %s\nproxied %s", kinds(direct), kinds(proxied))
	}
	for i := range direct {
		if d, p := mask(direct[i]), mask(proxied[i]); !bytes.Equal(d.body, p.body) {
			t.Errorf("message %d (%c) differs:\ndirect  %q\nproxied %q", i, d.kind, d.body, p.body)
		}
	}
}

// byteByByte writes each byte on its own.
func byteByByte(c net.Conn, b []byte) error {
	for i := range b {
		if _, err := c.Write(b[i : i+1]); err != nil {
			return fmt.Errorf("byte %d: %w", i, err)
		}
	}
	return nil
}

func (s script) size() int {
	n := 0
	for _, step := range s.steps {
		n += len(step.send)
	}
	return n
}
