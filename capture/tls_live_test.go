package capture

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/target"
)

const tlsPassword = "open-sesame-tls-55"

const tlsRules = `
host all postgres 127.0.0.1/32 trust
host all u_trust 127.0.0.1/32 trust
host all u_clear 127.0.0.1/32 password
host all u_md5 127.0.0.1/32 md5
host all u_scram 127.0.0.1/32 scram-sha-256
hostssl all u_cert 127.0.0.1/32 cert
hostssl all u_tls 127.0.0.1/32 trust
`

// secured is a PostgreSQL with TLS, and the files around it.
type secured struct {
	*dbtest.Server
	dir   string
	own   tls.Certificate // the server's
	other tls.Certificate // one of another name by the same authority
}

func newSecured(t *testing.T, o dbtest.Options) *secured {
	t.Helper()
	authority := dbtest.NewAuthority(t)
	s := &secured{dir: t.TempDir()}
	certificate, key := authority.Issue(t, "server", "127.0.0.1", "localhost")
	s.own = pair(certificate, key)
	s.other = pair(authority.Issue(t, "proxy", "127.0.0.1", "localhost"))
	clientCertificate, clientKey := authority.Issue(t, "u_cert")
	for name, content := range map[string][]byte{
		"ca.crt": authority.PEM, "stranger.crt": dbtest.NewAuthority(t).PEM, "client.crt": clientCertificate, "client.key": clientKey,
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Settings = append(o.Settings, "ssl=on", "ssl_ca_file=root.crt")
	o.Files = map[string][]byte{"server.crt": certificate, "server.key": key, "root.crt": authority.PEM, "pg_hba.conf": []byte(tlsRules)}
	s.Server = dbtest.Run(t, o)
	for _, user := range []string{"u_trust", "u_cert", "u_tls", "u_clear"} {
		s.Psql(t, "create role "+user+" login password '"+tlsPassword+"'")
	}
	s.Psql(t, "set password_encryption = 'md5'; create role u_md5 login password '"+tlsPassword+"'")
	s.Psql(t, "set password_encryption = 'scram-sha-256'; create role u_scram login password '"+tlsPassword+"'")
	return s
}

func pair(certificate, key []byte) tls.Certificate {
	c, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		panic(err)
	}
	return c
}

func (s *secured) file(name string) string { return filepath.Join(s.dir, name) }

// proxy runs a proxy to the server in a TLS mode; shown is what it shows its
// clients, nil for no TLS.
func (s *secured) proxy(t *testing.T, rec *recording, shown *tls.Certificate, parameters string) (addr string, stop func()) {
	t.Helper()
	to, err := target.ParseProxied("postgres://"+s.Addr+"/postgres?"+parameters, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dial: to.Dial, Recorder: rec.Recorder}
	if shown != nil {
		o.TLS = ServerTLS(*shown)
	}
	return through(t, s.Addr, o)
}

// log in by psql, and say how it went: whether each leg had TLS, or what it said.
func (s *secured) login(t *testing.T, addr, user, parameters string) string {
	t.Helper()
	u := url.URL{Scheme: "postgres", Host: addr, Path: "/postgres", User: url.UserPassword(user, tlsPassword), RawQuery: parameters + "&sslrootcert=" + s.file("ca.crt")}
	cmd := dbtest.Client(t.Context(), "psql", "-X", "-qAt", "-d", u.String(),
		"-c", "select 'server ' || case when ssl then 'TLS' else 'plain' end from pg_stat_ssl where pid = pg_backend_pid()", "-c", `\conninfo`)
	out, _ := cmd.CombinedOutput()
	said := strings.TrimSpace(string(out))
	if server, info, ok := strings.Cut(said, "\n"); ok && strings.HasPrefix(server, "server ") {
		client := "client plain"
		if strings.Contains(info, "SSL connection") {
			client = "client TLS"
		}
		return client + ", " + server
	}
	return said
}

// PG-18: every way to log in, through every mix of TLS on the two legs.
func TestTLSMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred logins")
	}
	s := newSecured(t, dbtest.Options{})
	rec := newRecording(t)
	good := 0
	for shownName, shown := range map[string]*tls.Certificate{"no certificate": nil, "another certificate": &s.other, "the server's certificate": &s.own} {
		for _, mode := range []string{"allow", "prefer", "verify-full"} {
			proxy, stop := s.proxy(t, rec, shown, "sslmode="+mode+"&sslrootcert="+s.file("ca.crt")+"&sslcert="+s.file("client.crt")+"&sslkey="+s.file("client.key"))
			for _, client := range []string{"disable", "prefer", "verify-full"} {
				for _, user := range []string{"u_trust", "u_clear", "u_md5", "u_scram", "u_cert"} {
					clientTLS, serverTLS := client != "disable" && shown != nil, mode != "allow"
					want := "client plain"
					if clientTLS {
						want = "client TLS"
					}
					if serverTLS {
						want += ", server TLS"
					} else {
						want += ", server plain"
					}
					switch {
					case client == "verify-full" && shown == nil:
						want = "server does not support SSL, but SSL was required"
					case user == "u_cert" && !serverTLS:
						want = "no pg_hba.conf entry"
					case user == "u_scram" && clientTLS && serverTLS && shown == &s.other:
						want = "SCRAM channel binding negotiation error"
						if client == "prefer" {
							want = "client plain, server TLS" // libpq tries again without TLS
						}
					}
					got := s.login(t, proxy, user, "sslmode="+client)
					if !strings.Contains(got, want) {
						t.Errorf("%s, client %s, target %s, %s:\ngot  %s\nwant %s", shownName, client, mode, user, got, want)
					}
					if strings.HasPrefix(got, "client ") {
						good++
					}
				}
			}
			stop()
		}
	}
	s.checkSecrets(t, rec, good)
}

// checkSecrets looks for what was said at login, compressed or not, and for the
// sessions that were to be recorded.
func (s *secured) checkSecrets(t *testing.T, rec *recording, good int) {
	t.Helper()
	events, gaps := rec.events()
	if len(gaps) > 0 {
		t.Errorf("gaps: %+v", gaps)
	}
	content := bytes.Clone(rec.out.b.Bytes())
	statements := 0
	for _, session := range events {
		for _, e := range session {
			content = append(append(content, e.Entry.Shape...), e.Values...)
			content = append(append(content, e.Entry.Text...), e.Reason...)
			if strings.Contains(e.Entry.Text, "pg_stat_ssl") {
				statements++
			}
		}
	}
	if statements != good || good == 0 {
		t.Errorf("%d logins went well, %d are recorded", good, statements)
	}
	for _, secret := range []string{tlsPassword, "SCRAM-SHA-256", "n,,n=", "y,,n=", ",r=", "PRIVATE KEY"} {
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("the trace holds %q", secret)
		}
	}
}

// PG-18: what a client sees that forbids channel binding, or insists on it.
func TestTLSChannelBinding(t *testing.T) {
	s := newSecured(t, dbtest.Options{})
	for _, c := range []struct {
		shown                  *tls.Certificate
		target, client, wanted string
	}{
		{&s.other, "sslmode=require", "sslmode=require&channel_binding=disable", "client TLS, server TLS"},
		{&s.other, "sslmode=require", "sslmode=require&channel_binding=require", "channel binding is required"},
		{&s.own, "sslmode=require", "sslmode=require&channel_binding=require", "client TLS, server TLS"},
		{&s.own, "sslmode=disable", "sslmode=require&channel_binding=require", "channel binding is required"},
		{&s.other, "sslmode=disable", "sslmode=require&channel_binding=prefer", "client TLS, server plain"},
		{nil, "sslmode=require", "sslmode=disable&channel_binding=require", "channel binding required, but SSL not in use"},
		{nil, "sslmode=require", "sslmode=disable&channel_binding=prefer", "client plain, server TLS"},
	} {
		rec := newRecording(t)
		proxy, stop := s.proxy(t, rec, c.shown, c.target)
		if got := s.login(t, proxy, "u_scram", c.client); !strings.Contains(got, c.wanted) {
			t.Errorf("target %s, client %s: got %s, want %s", c.target, c.client, got, c.wanted)
		}
		stop()
	}
}

// SE-09: a target that is not who it should be gets nothing, and the client is
// told what to do.
func TestTLSTargetRefused(t *testing.T) {
	s := newSecured(t, dbtest.Options{})
	plain := dbtest.Postgres15(t)
	for _, c := range []struct {
		server     *dbtest.Server
		parameters string
		wanted     string
	}{
		{s.Server, "sslmode=verify-ca&sslrootcert=" + s.file("stranger.crt"), "sslrootcert=FILE"},
		{s.Server, "sslmode=require&sslrootcert=" + s.file("stranger.crt"), "sslrootcert=FILE"},
		{plain, "sslmode=require", "the server does not speak TLS"},
		{plain, "sslmode=verify-full&sslrootcert=" + s.file("ca.crt"), "the server does not speak TLS"},
	} {
		rec := newRecording(t)
		proxy, stop := (&secured{Server: c.server, dir: s.dir}).proxy(t, rec, nil, c.parameters)
		got := s.login(t, proxy, "u_trust", "sslmode=disable")
		if !strings.Contains(got, "FATAL:  retrace capture: cannot connect to") || !strings.Contains(got, c.wanted) {
			t.Errorf("%s: %s", c.parameters, got)
		}
		stop()
	}
}

// Users that are let in over TLS only get in; and pgbench, cancel requests and large results pass through TLS on
// both legs.
func TestTLSTraffic(t *testing.T) {
	s := newSecured(t, dbtest.Options{})
	s.Pgbench(t, "-i", "-q", "-s", "1")
	rec := newRecording(t)
	proxy, stop := s.proxy(t, rec, &s.own, "sslmode=verify-full&sslrootcert="+s.file("ca.crt"))
	for _, protocol := range []string{"simple", "extended", "prepared"} {
		b, err := dbtest.RunPgbench(t.Context(), proxy, "-n", "-c", "4", "-t", "25", "-M", protocol)
		if err != nil || b.Transactions != 100 || b.Failed != 0 {
			t.Errorf("%s: %+v, %v", protocol, b, err)
		}
	}
	parameters := "?sslmode=verify-full&sslrootcert=" + s.file("ca.crt")
	c, err := pgx.Connect(t.Context(), "postgres://u_tls@"+proxy+"/postgres"+parameters)
	if err != nil {
		t.Fatal(err)
	}
	var rows, size int
	err = c.QueryRow(t.Context(), "select count(*), sum(length(x)) from (select repeat('x', 1000) x from generate_series(1, 20000)) s").Scan(&rows, &size)
	if err != nil || size != 20_000_000 {
		t.Errorf("%d bytes, %v", size, err)
	}
	big := strings.Repeat("y", 8<<20)
	var back string
	if err := c.QueryRow(t.Context(), "select $1::text", big).Scan(&back); err != nil || back != big {
		t.Errorf("%d bytes came back, %v", len(back), err)
	}
	cancelled := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.Background(), "select pg_sleep(60)")
		cancelled <- err
	}()
	waitFor(t, func() bool {
		return s.Psql(t, "select count(*) from pg_stat_activity where query like '%pg_sleep(60)'") == "1"
	})
	if err := c.PgConn().CancelRequest(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-cancelled; err == nil || !strings.Contains(err.Error(), "57014") {
		t.Errorf("the cancelled statement: %v", err)
	}
	_ = c.Close(t.Context())
	stop()
	events, gaps := rec.events()
	if len(events) != 3*(4+1)+1+1 || len(gaps) != 0 { // pgbench looks first; a cancel request stands for itself
		t.Errorf("%d sessions, gaps %v", len(events), gaps)
	}
}

// PG-19: PostgreSQL 18 speaks direct TLS, on both legs.
func TestTLSDirect(t *testing.T) {
	s := newSecured(t, dbtest.Options{Major: 18})
	rec := newRecording(t)
	proxy, stop := s.proxy(t, rec, &s.own, "sslmode=verify-full&sslnegotiation=direct&sslrootcert="+s.file("ca.crt"))
	defer stop()
	for _, parameters := range []string{"sslnegotiation=direct&channel_binding=require", "max_protocol_version=3.2"} {
		u := fmt.Sprintf("postgres://u_scram:%s@%s/postgres?sslmode=verify-full&sslrootcert=%s&%s", tlsPassword, proxy, s.file("ca.crt"), parameters)
		c, err := pgx.Connect(t.Context(), u)
		if err != nil {
			t.Fatalf("%s: %v", parameters, err)
		}
		var encrypted bool
		if err := c.QueryRow(t.Context(), "select ssl from pg_stat_ssl where pid = pg_backend_pid()").Scan(&encrypted); err != nil || !encrypted {
			t.Errorf("%s: TLS %v, %v", parameters, encrypted, err)
		}
		_ = c.Close(t.Context())
	}
}
