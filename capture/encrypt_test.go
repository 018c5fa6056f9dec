package capture

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/wire/pg"
)

// offering is a proxy with a certificate, in front of a server that echoes.
func offering(t *testing.T) (addr string) {
	t.Helper()
	shown := pair(dbtest.NewAuthority(t).Issue(t, "proxy", "127.0.0.1"))
	addr, _ = through(t, fakeServer(t), Options{HandshakeTimeout: time.Second, TLS: ServerTLS(shown)})
	return addr
}

// Clients that ask for TLS get it, those that don't go on without, and what does
// not keep to the protocol is let in neither way.
func TestHandshakeWithTLS(t *testing.T) {
	proxy := offering(t)
	start := script{}.startPacket()
	welcome := string(raw('A', string(start))) + string(raw('R', "\x00\x00\x00\x00")) + string(raw('Z', "I"))
	ssl, gss := code(pg.CodeSSL), code(pg.CodeGSS)
	if got := exchangeAll(t, proxy, start); got != welcome {
		t.Errorf("in the clear: %q", got)
	}
	// CVE-2021-23222: what is put between the question and the handshake.
	for name, injected := range map[string][]byte{"start": start, "ssl": ssl, "garbage": []byte("xxxxxxxx")} {
		for _, pieces := range [][][]byte{{ssl, injected}, {append(append([]byte{}, ssl...), injected...)}} {
			if got := exchangeAll(t, proxy, pieces...); !strings.HasPrefix(got, "S") || strings.Contains(got, "A") || !strings.HasSuffix(got, "$") {
				t.Errorf("%s after SSLRequest: %q", name, got)
			}
		}
	}
	for name, c := range map[string]struct {
		before [][]byte
		config *tls.Config
		say    []byte
		want   string // a beginning; or the error
	}{
		"asked":              {[][]byte{ssl}, &tls.Config{}, start, welcome},
		"asked after gss":    {[][]byte{gss, ssl}, &tls.Config{}, start, welcome},
		"asked, with ALPN":   {[][]byte{ssl}, &tls.Config{NextProtos: []string{"postgresql"}}, start, welcome},
		"TLS 1.2":            {[][]byte{ssl}, &tls.Config{MaxVersion: tls.VersionTLS12}, start, welcome},
		"TLS 1.1":            {[][]byte{ssl}, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, start, "protocol version not supported"},
		"direct":             {nil, &tls.Config{NextProtos: []string{"postgresql"}}, start, welcome},
		"direct, no ALPN":    {nil, &tls.Config{}, start, string(fatal(codeProtocol, "direct TLS without the ALPN protocol postgresql", "connect with sslnegotiation=postgres"))},
		"direct, other ALPN": {nil, &tls.Config{NextProtos: []string{"h2"}}, start, "no application protocol"},
		"asked twice":        {[][]byte{ssl}, &tls.Config{}, ssl, string(fatal(codeProtocol, "client asks for encryption inside of TLS", ""))},
		"gss inside":         {[][]byte{ssl}, &tls.Config{}, gss, string(fatal(codeProtocol, "client asks for encryption inside of TLS", ""))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := net.Dial("tcp", proxy)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			_ = raw.SetDeadline(time.Now().Add(10 * time.Second))
			for _, b := range c.before {
				_, _ = raw.Write(b)
				if _, err := io.ReadFull(raw, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			c.config.InsecureSkipVerify = true
			secured := tls.Client(raw, c.config)
			_, err = secured.Write(c.say)
			got := make([]byte, len(c.want))
			if err == nil {
				_, err = io.ReadFull(secured, got)
			}
			if string(got) != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// A side that ends its stream under TLS, in good order or not, ends the other's
// as it would without TLS, and what is under way the other way still arrives.
func TestTLSHalfClose(t *testing.T) {
	proxy := offering(t)
	for name, orderly := range map[string]bool{"close_notify": true, "vanished": false} {
		t.Run(name, func(t *testing.T) {
			raw, err := net.Dial("tcp", proxy)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			_ = raw.SetDeadline(time.Now().Add(10 * time.Second))
			secured := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"postgresql"}})
			text := strings.Repeat("last words ", 1000)
			if _, err := secured.Write(append(script{}.startPacket(), text...)); err != nil {
				t.Fatal(err)
			}
			if orderly {
				err = secured.CloseWrite()
			} else {
				err = raw.(*net.TCPConn).CloseWrite()
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(secured)
			if err != nil || !strings.HasSuffix(string(got), text) {
				t.Errorf("%d bytes came back, %v", len(got), err)
			}
		})
	}
}
