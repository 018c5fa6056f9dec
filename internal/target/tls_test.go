package target

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// What a proxy's URL leaves open about TLS is safe.
func TestParseProxied(t *testing.T) {
	bare(t)
	for url, want := range map[string]string{
		"postgres://127.0.0.1":                                     "plain",
		"postgres://localhost/x":                                   "plain",
		"postgres://[::1]:7/x?application_name=y":                  "plain",
		"postgres:///z?host=/run/pg":                               "plain",
		"postgres://db.example":                                    "verified",
		"postgres://10.0.0.1/x?application_name=y":                 "verified",
		"postgres://127.0.0.1,db.example/x":                        "verified",
		"postgres://127.0.0.1/?sslnegotiation=direct":              "verified",
		"postgres://db.example?sslmode=disable":                    "plain",
		"postgres://db.example?sslmode=allow":                      "plain first",
		"postgres://db.example?sslmode=prefer":                     "TLS first",
		"postgres://db.example?sslmode=require":                    "any TLS",
		"postgres://db.example?sslmode=verify-full":                "verified",
		"postgres://127.0.0.1?sslmode=verify-full":                 "verified",
		"postgres://db.example?sslnegotiation=direct":              "verified",
		"postgres://db.example?ssl=true":                           "any TLS",
		"postgres://x?sslmode=require&sslnegotiation=direct":       "any TLS",
		"postgres://db.example?sslmode=disable&sslrootcert=system": "verified",
	} {
		to, err := ParseProxied(url, os.Getenv)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		first, got := to.config.TLSConfig, "verified"
		otherwise := false // the same place in another way
		for _, f := range to.config.Fallbacks {
			otherwise = otherwise || f.Host == to.config.Host && (f.TLSConfig == nil) != (first == nil)
		}
		switch {
		case first == nil && otherwise:
			got = "plain first"
		case first == nil:
			got = "plain"
		case otherwise:
			got = "TLS first"
		case first.InsecureSkipVerify:
			got = "any TLS"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	t.Setenv("PGSSLMODE", "disable")
	if to, err := ParseProxied("postgres://db.example", os.Getenv); err != nil || to.config.TLSConfig != nil {
		t.Errorf("PGSSLMODE is not heeded: %v", err)
	}
	for _, mode := range []string{"disable", "allow"} {
		if _, err := ParseProxied("postgres://h?sslnegotiation=direct&sslmode="+mode, os.Getenv); err == nil {
			t.Errorf("sslmode=%s and direct TLS are both taken", mode)
		}
	}
}

// listening runs a server that serves each connection by a function.
func listening(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(5 * time.Second))
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// A server that is not what the TLS mode asks for is not spoken to.
func TestDialTLS(t *testing.T) {
	bare(t)
	authority := dbtest.NewAuthority(t)
	certificate := func(host string) *tls.Config {
		c, err := tls.X509KeyPair(authority.Issue(t, host, host))
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{Certificates: []tls.Certificate{c}, NextProtos: []string{"postgresql"}}
	}
	good, wrong := certificate("127.0.0.1"), certificate("elsewhere.example")
	silent := good.Clone()
	silent.NextProtos = nil
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(dir+"/ca.crt", authority.PEM, 0o600), os.WriteFile(dir+"/stranger.crt", dbtest.NewAuthority(t).PEM, 0o600)); err != nil {
		t.Fatal(err)
	}
	answers := func(answer string, config *tls.Config) func(net.Conn) {
		return func(c net.Conn) {
			if answer != "" {
				first := make([]byte, 8)
				if _, err := io.ReadFull(c, first); err != nil || !bytes.Equal(first, []byte{0, 0, 0, 8, 4, 210, 22, 47}) {
					_, _ = c.Write(append([]byte("plain "), first...))
					return
				}
				_, _ = c.Write([]byte(answer))
			}
			if config != nil {
				secured := tls.Server(c, config)
				_, _ = secured.Write([]byte("secured "))
				_, _ = io.Copy(io.Discard, secured)
				return
			}
			_, _ = io.Copy(io.Discard, c)
		}
	}
	for name, c := range map[string]struct {
		serve      func(net.Conn)
		parameters string
		want       string // what the server says first, or of the error
	}{
		"require":                {answers("S", good), "sslmode=require", "secured "},
		"require, wrong host":    {answers("S", wrong), "sslmode=require", "secured "},
		"require, N":             {answers("N", nil), "sslmode=require", "the server does not speak TLS"},
		"require, something":     {answers("E", nil), "sslmode=require", "the server does not speak TLS"},
		"verify-full":            {answers("S", good), "sslmode=verify-full&sslrootcert=" + dir + "/ca.crt", "secured "},
		"verify-full, host":      {answers("S", wrong), "sslmode=verify-full&sslrootcert=" + dir + "/ca.crt", "not trusted"},
		"verify-ca, host":        {answers("S", wrong), "sslmode=verify-ca&sslrootcert=" + dir + "/ca.crt", "secured "},
		"verify-ca, stranger":    {answers("S", good), "sslmode=verify-ca&sslrootcert=" + dir + "/stranger.crt", "not trusted"},
		"require with a CA":      {answers("S", good), "sslmode=require&sslrootcert=" + dir + "/stranger.crt", "not trusted"},
		"verify-full, no CA":     {answers("S", good), "sslmode=verify-full", "not trusted"},
		"bytes before handshake": {answers("SE\x00\x00\x00\x08boo", good), "sslmode=require", "the server does not speak TLS"},
		"direct":                 {answers("", good), "sslmode=require&sslnegotiation=direct", "secured "},
		"direct, no ALPN":        {answers("", silent), "sslmode=require&sslnegotiation=direct", "not PostgreSQL"},
		"prefer":                 {answers("S", good), "sslmode=prefer", "secured "},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := mustParse(t, "postgres://a@"+listening(t, c.serve)+"/?"+c.parameters).Dial(t.Context(), nil)
			if err != nil {
				var e *Error
				if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			got := make([]byte, len(c.want))
			if _, err := io.ReadFull(conn, got); err != nil || string(got) != c.want {
				t.Errorf("%q, %v, want %s", got, err, c.want)
			}
		})
	}
}
