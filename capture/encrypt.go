package capture

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// alpn is the protocol's name in TLS. Who begins with TLS at once must say it.
const alpn = "postgresql"

// ServerTLS is how a proxy shows itself to clients that ask for TLS.
func ServerTLS(certificate tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates:           []tls.Certificate{certificate},
		MinVersion:             tls.VersionTLS12,
		NextProtos:             []string{alpn},
		SessionTicketsDisabled: true, // as the server itself has it
		// Else what one read brought would go on in many small records.
		DynamicRecordSizingDisabled: true,
	}
}

// encrypt does the server's part of a TLS handshake. Nothing that came before it
// is held in a buffer, so what a stranger puts between the question and the
// handshake can only break the handshake (CVE-2021-23222).
func encrypt(ctx context.Context, c net.Conn, config *tls.Config) (*tls.Conn, error) {
	secured := tls.Server(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, &refusal{[]byte{}, fmt.Sprintf("TLS handshake: %v", err)}
	}
	return secured, nil
}

// accept answers a client that has asked for TLS.
func accept(ctx context.Context, c net.Conn, config *tls.Config) (net.Conn, error) {
	if _, err := c.Write([]byte{'S'}); err != nil {
		return c, silent(err)
	}
	secured, err := encrypt(ctx, c, config)
	if err != nil {
		return c, err
	}
	return secured, nil
}

// encryptAtOnce is encrypt for a client that did not ask before: first is what
// was read of its hello.
func encryptAtOnce(ctx context.Context, c net.Conn, first []byte, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return c, &refusal{tlsAlert, "client began with TLS, which is not offered: connect with sslmode=prefer or disable, or give capture a certificate"}
	}
	secured, err := encrypt(ctx, &reread{c, first}, config)
	if err != nil {
		return c, err
	}
	if secured.ConnectionState().NegotiatedProtocol != alpn {
		return secured, refuse(codeProtocol, "direct TLS without the ALPN protocol "+alpn, "connect with sslnegotiation=postgres")
	}
	return secured, nil
}

// reread is a connection of which something was read already.
type reread struct {
	net.Conn
	first []byte
}

func (r *reread) Read(b []byte) (int, error) {
	if len(r.first) == 0 {
		return r.Conn.Read(b)
	}
	n := copy(b, r.first)
	r.first = r.first[n:]
	return n, nil
}

func (r *reread) CloseWrite() error {
	closeWrite(r.Conn)
	return nil
}
