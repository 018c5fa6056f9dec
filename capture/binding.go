package capture

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"net"
)

// SCRAM's channel binding ties a login to the certificate that the client sees,
// so it can pass only where the client sees the server's own. Elsewhere it is
// not offered: a client without TLS would refuse to go on, taking the offer for
// an attack.

// unbound is a server's connection whose offer of channel binding is held back.
// Nothing else is changed, and nothing after the server has said how to log in.
type unbound struct {
	*tls.Conn
	onOffer func() // there was something to hold back

	head []byte // read, and not given out
	done bool   // the server has said how to log in
	err  error  // what came after head
}

// unbind wraps a server's connection where a binding cannot pass.
func (p *Proxy) unbind(client, server net.Conn) net.Conn {
	toServer, ok := server.(*tls.Conn)
	if !ok {
		return server // without TLS nothing is offered
	}
	_, encrypted := client.(*tls.Conn)
	if encrypted && sameCertificate(p.options.TLS, toServer) {
		return server
	}
	return &unbound{Conn: toServer, onOffer: func() {
		if encrypted {
			p.warnOfBinding.Do(func() {
				p.options.Log.Warn("the server offers SCRAM with channel binding, which cannot pass, as clients see another certificate: those that insist, or say that they could, will not get in; give capture the server's own certificate and key, or clients channel_binding=disable, or leave one of the two legs without TLS")
			})
		}
	}}
}

// sameCertificate tells whether the proxy shows its clients the server's certificate.
func sameCertificate(shown *tls.Config, server *tls.Conn) bool {
	seen := server.ConnectionState().PeerCertificates
	return len(seen) > 0 && bytes.Equal(seen[0].Raw, shown.Certificates[0].Certificate[0])
}

// loginHead bounds what is read before the server says how to log in: notices,
// and the protocol it can.
const loginHead = 64 << 10

func (u *unbound) Read(b []byte) (int, error) {
	for !u.done {
		var buf [1024]byte
		n, err := u.Conn.Read(buf[:])
		u.head = append(u.head, buf[:n]...)
		u.look()
		if err != nil {
			u.done, u.err = true, err
		}
	}
	if len(u.head) > 0 {
		n := copy(b, u.head)
		u.head = u.head[n:]
		return n, nil
	}
	u.head = nil
	if err := u.err; err != nil {
		u.err = nil
		return 0, err
	}
	return u.Conn.Read(b)
}

// look finds the message that says how to log in.
func (u *unbound) look() {
	for at := 0; ; {
		rest := u.head[at:]
		if len(rest) < 5 {
			return
		}
		size := 1 + uint64(binary.BigEndian.Uint32(rest[1:]))
		kind := rest[0]
		if kind != 'R' && kind != 'v' && kind != 'N' || size < 5 || uint64(at)+size > loginHead {
			u.done = true
			return
		}
		if uint64(len(rest)) < size {
			return
		}
		if kind == 'R' {
			u.done = true
			if without, found := withoutBinding(rest[:size]); found {
				u.head = append(append(u.head[:at:at], without...), rest[size:]...)
				u.onOffer()
			}
			return
		}
		at += int(size)
	}
}

const authSASL = 10

// withoutBinding takes the mechanisms with channel binding out of an
// AuthenticationSASL message.
func withoutBinding(message []byte) (without []byte, found bool) {
	if len(message) < 9 || binary.BigEndian.Uint32(message[5:]) != authSASL {
		return nil, false
	}
	without = bytes.Clone(message[:9])
	rest := message[9:]
	for len(rest) > 0 && rest[0] != 0 {
		name, after, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return nil, false
		}
		if bytes.HasSuffix(name, []byte("-PLUS")) {
			found = true
		} else {
			without = append(append(without, name...), 0)
		}
		rest = after
	}
	without = append(without, rest...)
	binary.BigEndian.PutUint32(without[1:], uint32(len(without)-1))
	return without, found
}
