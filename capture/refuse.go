package capture

import (
	"encoding/binary"
	"net"
	"time"
)

// SQLSTATEs of what the proxy itself has to say to a client.
const (
	codeProtocol = "08P01" // protocol violation
	codeTarget   = "08006" // connection failure
	codeFull     = "53300" // too many connections
	codeClosing  = "57P03" // cannot connect now
)

// fatal is an ErrorResponse that ends a session before it has begun.
func fatal(code, message, hint string) []byte {
	b := []byte{'E', 0, 0, 0, 0}
	field := func(kind byte, value string) {
		if value != "" {
			b = append(append(append(b, kind), value...), 0)
		}
	}
	field('S', "FATAL")
	field('V', "FATAL")
	field('C', code)
	field('M', message)
	field('H', hint)
	b = append(b, 0)
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-1))
	return b
}

// tlsAlert is what a TLS client understands: fatal, handshake_failure.
var tlsAlert = []byte{0x15, 3, 1, 0, 2, 2, 40}

// dismiss sends a last word and closes the connection in such a way that the
// word arrives: what the client has sent meanwhile is read, since closing with
// bytes unread would make the kernel throw the word away.
func dismiss(c net.Conn, word []byte) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write(word); err != nil {
		return
	}
	closeWrite(c)
	var rest [512]byte
	for range 64 {
		if _, err := c.Read(rest[:]); err != nil {
			return
		}
	}
}

// closeWrite passes on that nothing more will come: of TLS as well as of the
// connection beneath it.
func closeWrite(c net.Conn) {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		_ = c.Close()
		return
	}
	_ = half.CloseWrite()
	if tls, ok := c.(interface{ NetConn() net.Conn }); ok {
		closeWrite(tls.NetConn())
	}
}
