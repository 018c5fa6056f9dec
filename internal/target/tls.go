package target

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ParseProxied is Parse for a proxy, which must not make the way to the database
// less safe than it was without. Where nothing is said about TLS, servers on
// other machines must have it, with a certificate that is theirs, and those on
// this machine are spoken to in the clear.
func ParseProxied(raw string, getenv func(string) string) (*Target, error) {
	t, err := Parse(raw, getenv)
	switch {
	case err != nil || t.namesTLSMode():
		return t, err
	case t.local() && !t.namesTLS():
		return Parse(withParameter(raw, "sslmode", "disable"), getenv)
	}
	return Parse(withParameter(raw, "sslmode", "verify-full"), getenv)
}

func withParameter(raw, name, value string) string {
	separator := "?"
	if strings.Contains(raw, "?") {
		separator = "&"
	}
	return raw + separator + name + "=" + url.QueryEscape(value)
}

// setting is what the URL says, or else the environment.
func (t *Target) setting(name string) string {
	if value := t.query.Get(name); value != "" {
		return value
	}
	return t.getenv("PG" + strings.ToUpper(name))
}

// namesTLSMode tells whether the mode is somebody's choice. Who uses a service
// file has made it there.
func (t *Target) namesTLSMode() bool {
	return t.setting("sslmode") != "" || t.query.Get("ssl") != "" || t.setting("service") != ""
}

// namesTLS tells whether TLS was thought of, so that it must not be left out.
func (t *Target) namesTLS() bool {
	for _, name := range []string{"sslrootcert", "sslcert", "sslkey", "sslnegotiation"} {
		if t.setting(name) != "" {
			return true
		}
	}
	return false
}

// ClientCertificate tells whether connections log in with a certificate of our own.
func (t *Target) ClientCertificate() bool { return t.setting("sslcert") != "" }

// local tells whether all places are on this machine.
func (t *Target) local() bool {
	for _, e := range t.endpoints() {
		ip, err := netip.ParseAddr(e.host)
		loopback := err == nil && ip.IsLoopback()
		if !loopback && e.host != "localhost" && !strings.HasPrefix(e.host, "/") {
			return false
		}
	}
	return true
}

// checkDirect refuses what libpq refuses: TLS at once, and perhaps not at all.
func (t *Target) checkDirect() error {
	mode := t.setting("sslmode")
	if t.config.SSLNegotiation == "direct" && (mode == "disable" || mode == "allow") {
		return errors.New("sslnegotiation=direct needs sslmode=require, verify-ca or verify-full, not " + mode)
	}
	return nil
}

var errNotPostgres = errors.New("the server speaks TLS but not PostgreSQL over direct TLS: leave out sslnegotiation=direct")

// handshake completes TLS, if a connection has it, so that what is wrong with it
// is known before anything is sent.
func handshake(ctx context.Context, config *pgconn.Config, c net.Conn) error {
	conn, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	if config.SSLNegotiation == "direct" && conn.ConnectionState().NegotiatedProtocol != "postgresql" {
		return errNotPostgres
	}
	return nil
}
