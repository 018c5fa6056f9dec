package target

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// bare takes the caller's PG* variables away.
func bare(t testing.TB) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "PG") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("PGPASSFILE", "/nonexistent")
}

func mustParse(t testing.TB, url string) *Target {
	t.Helper()
	to, err := Parse(url, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestParse(t *testing.T) {
	bare(t)
	t.Setenv("PGUSER", "env")
	for _, c := range []struct{ url, shown, database string }{
		{"postgres://app:secret@db.example:6000/shop?sslmode=disable", "postgres://app@db.example:6000/shop", "shop"},
		{"postgresql://app@db.example", "postgres://app@db.example:5432", ""},
		{"postgres://db.example/", "postgres://env@db.example:5432", ""},
		{"postgres://a:b@h1:1,h2:2/x", "postgres://a@h1:1,h2:2/x", "x"},
		{"postgres://[::1]:7/x", "postgres://env@[::1]:7/x", "x"},
		{"postgres://a:p%40ss@h/?dbname=y", "postgres://a@h:5432/y", "y"},
		{"postgres:///z?host=/run/pg&port=7", "postgres://env@%2Frun%2Fpg:7/z", "z"},
	} {
		to, err := Parse(c.url, os.Getenv)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if to.String() != c.shown || to.Database() != c.database || to.Scheme() != "postgres" {
			t.Errorf("%s: shown as %s, database %q", c.url, to, to.Database())
		}
	}
}

func TestEnvironmentNamesNoDatabase(t *testing.T) {
	bare(t)
	t.Setenv("PGDATABASE", "mine")
	to := mustParse(t, "postgres://app@h")
	if to.Database() != "" || to.DefaultDatabase() != "mine" {
		t.Errorf("database %q, default %q", to.Database(), to.DefaultDatabase())
	}
}

func TestServiceFile(t *testing.T) {
	bare(t)
	file := filepath.Join(t.TempDir(), "services")
	if err := os.WriteFile(file, []byte("[prod]\nhost=service.example\nport=7777\ndbname=shop\nuser=svc\npassword=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGSERVICEFILE", file)
	to := mustParse(t, "postgres://?service=prod")
	if to.String() != "postgres://svc@service.example:7777/shop" {
		t.Errorf("got %s", to)
	}
}

func TestErrorsHoldNoPassword(t *testing.T) {
	bare(t)
	for _, url := range []string{
		"hunter2", "mysql://a:hunter2@h", "postgres://a:hunter2@h:port/x", "postgres://a:hunter2@h?sslmode=hunter2",
		"postgres://a:hun/ter2@h/x", "postgres://a:hun?ter2@h/x", "postgres://a:123/hunter2@h/x", "postgres://a:hunter2%zz@h",
		"postgres://a@h?password=hunter2&sslmode=wrong", "postgres://a:hunter2@h?target_session_attrs=nosuch",
		"postgres://a:hunter2@h?sslrootcert=/nonexistent/hunter2&sslmode=verify-full", "postgres://a:hunter2@h:99999", "postgres://a:h@u:hunter2@h",
	} {
		to, err := Parse(url, os.Getenv)
		if err == nil {
			if strings.Contains(to.String(), "ter2") {
				t.Errorf("%s: shown as %s", url, to)
			}
			continue
		}
		if s := err.Error(); strings.Contains(s, "ter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func FuzzParseHidesPassword(f *testing.F) {
	f.Add("postgres://app:", "@h/x")
	f.Add("postgres://app:", "@h:1,h2:2/x?sslmode=require")
	f.Add("postgres://app@h?password=", "&sslmode=x")
	const secret = "c0rrecthorse"
	f.Fuzz(func(t *testing.T, before, after string) {
		u := before + secret + after
		to, err := Parse(u, func(string) string { return "" })
		switch {
		case !strings.HasSuffix(before, ":") || strings.ContainsAny(before[:max(len(before)-1, 0)], "@?,") || !strings.HasPrefix(after, "@"):
			return // the secret is no password there, but perhaps a host
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("%q: %v", u, err)
		case err == nil && strings.Contains(to.String(), secret):
			t.Errorf("%q: shown as %s", u, to)
		}
	})
}

func TestAddresses(t *testing.T) {
	bare(t)
	for url, want := range map[string][]string{
		"postgres://a@127.0.0.1:7":             {"127.0.0.1:7"},
		"postgres://a@127.0.0.1:7,127.0.0.2:8": {"127.0.0.1:7", "127.0.0.2:8"},
		"postgres:///z?host=/run/pg&port=7":    {"unix:/run/pg/.s.PGSQL.7"},
	} {
		got, err := mustParse(t, url).Addresses(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", url, got, err)
		}
	}
	local, err := mustParse(t, "postgres://a@localhost:7").Addresses(t.Context())
	if err != nil || !slices.Contains(local, "127.0.0.1:7") && !slices.Contains(local, "[::1]:7") {
		t.Errorf("localhost: %v, %v", local, err)
	}
	var e *Error
	if _, err := mustParse(t, "postgres://a:hunter2@nosuchhost.invalid").Addresses(t.Context()); !errors.As(err, &e) || e.Class != Unreachable || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// What a session starts with is what was recorded, with what the URL adds, and
// nothing of the environment.
func TestParameters(t *testing.T) {
	bare(t)
	t.Setenv("PGAPPNAME", "environment")
	t.Setenv("PGTZ", "Asia/Tokyo")
	to := mustParse(t, "postgres://a@h?options=-c%20a%3Db")
	got := to.parameters(to.config.RuntimeParams, map[string]string{
		"application_name": "recorded", "user": "u", "database": "d", "replication": "0", "_pq_.x": "1",
	})
	want := map[string]string{"application_name": "recorded", "options": "-c a=b"}
	if len(got) != len(want) || got["application_name"] != want["application_name"] || got["options"] != want["options"] {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The login must take nothing of what the server sends after it.
func TestMessageReaderStopsAtMessages(t *testing.T) {
	stream := []byte("R\x00\x00\x00\x08\x00\x00\x00\x00S\x00\x00\x00\x0aa\x00b\x00xyZ\x00\x00\x00\x05I")
	ends := map[int]bool{5: true, 9: true, 14: true, 20: true, 25: true, 26: true}
	for _, from := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
		m := &messageReader{r: from(bytes.NewReader(stream))}
		var all []byte
		buf := make([]byte, 100)
		for {
			n, err := m.Read(buf)
			all = append(all, buf[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.Equal(all, stream) {
			t.Errorf("got %q", all)
		}
	}
	m := &messageReader{r: bytes.NewReader(stream)}
	at, buf := 0, make([]byte, 100)
	for at < len(stream) {
		n, err := m.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if at += n; !ends[at] {
			t.Errorf("a read ended at %d", at)
		}
	}
}

func TestMapError(t *testing.T) {
	bare(t)
	to := mustParse(t, "postgres://app:hunter2@db:1/x")
	if to.MapError(nil) != nil {
		t.Error("no error became one")
	}
	err := to.MapError(context.DeadlineExceeded)
	var e *Error
	if !errors.As(err, &e) || e.Class != Timeout || to.MapError(err) != err || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestLiveConnect(t *testing.T) {
	bare(t)
	s := dbtest.Run(t, dbtest.Options{Password: "sesame"})
	ctx := t.Context()
	to := mustParse(t, s.URL("", ""))
	c, err := to.ConnectPG(ctx, "postgres", "", map[string]string{"application_name": "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.PID == 0 || len(c.Key) == 0 || c.Parameters["application_name"] != "x" {
		t.Errorf("pid %d, key of %d bytes, %v", c.PID, len(c.Key), c.Parameters)
	}
	_, _ = c.Write([]byte("Q\x00\x00\x00\x17select pg_sleep(9)\x00"))
	time.AfterFunc(100*time.Millisecond, func() { _ = to.Cancel(ctx, c) })
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	reply, _ := io.ReadAll(io.LimitReader(c, 120))
	if !bytes.Contains(reply, []byte("57014")) {
		t.Errorf("after a cancel request: %q", reply)
	}

	admin, err := to.Admin(ctx, "", "test")
	if err != nil {
		t.Fatal(err)
	}
	_ = admin.Close(ctx)

	wrong := strings.Replace(s.URL("", ""), "sesame", "hunter2", 1)
	var e *Error
	if _, err := mustParse(t, wrong).ConnectPG(ctx, "", "", nil); !errors.As(err, &e) || e.Class != Auth || e.SQLState != "28P01" || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("wrong password: %v", err)
	}
	if _, err := to.ConnectPG(ctx, "nosuch", "", nil); !errors.As(err, &e) || e.Class != Database {
		t.Errorf("no such database: %v", err)
	}
}

// .pgpass may hold another password for each database.
func TestLivePassfile(t *testing.T) {
	bare(t)
	s := dbtest.Run(t, dbtest.Options{Password: "sesame"})
	if _, err := s.SQL(t.Context(), "", "create database other"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("*:*:other:*:sesame\n*:*:*:*:wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", file)
	to := mustParse(t, "postgres://"+dbtest.User+"@"+s.Addr)
	if _, err := to.ConnectPG(t.Context(), "postgres", "", nil); err == nil {
		t.Error("logged in with the wrong password")
	}
	c, err := to.ConnectPG(t.Context(), "other", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// Another user has a password of its own: from .pgpass or PGPASSWORD, never that
// of the URL.
func TestLiveOtherUser(t *testing.T) {
	bare(t)
	s := dbtest.Run(t, dbtest.Options{Password: "sesame"})
	if _, err := s.SQL(t.Context(), "", "create role \"o ther@\" login password 'open'"); err != nil {
		t.Fatal(err)
	}
	who := func(to *Target) (string, error) {
		c, err := to.ConnectPG(t.Context(), "postgres", "o ther@", nil)
		if err != nil {
			return "", err
		}
		defer c.Close()
		return c.Parameters["session_authorization"], nil
	}
	for _, url := range []string{"postgres://" + dbtest.User + ":sesame@" + s.Addr, "postgres://" + s.Addr + "/?user=" + dbtest.User + "&password=sesame"} {
		t.Setenv("PGPASSFILE", "/nonexistent")
		t.Setenv("PGPASSWORD", "")
		if _, err := who(mustParse(t, url)); err == nil {
			t.Error("logged in without a password")
		}
		t.Setenv("PGPASSWORD", "open")
		if name, err := who(mustParse(t, url)); name != "o ther@" {
			t.Errorf("%q, %v", name, err)
		}
		t.Setenv("PGPASSWORD", "")
		file := filepath.Join(t.TempDir(), "pgpass")
		if err := os.WriteFile(file, []byte("*:*:*:o ther@:open\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PGPASSFILE", file)
		if name, err := who(mustParse(t, url)); name != "o ther@" {
			t.Errorf("%q, %v", name, err)
		}
	}
}

func TestDialSpeaksNothing(t *testing.T) {
	bare(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := mustParse(t, "postgres://a@"+l.Addr().String()+"?sslmode=allow").Dial(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if said, err := io.ReadAll(server); err != nil || len(said) != 0 {
		t.Errorf("got %q, %v", said, err)
	}
	server.Close()
	l.Close()
	var e *Error
	if _, err := mustParse(t, "postgres://a@"+l.Addr().String()+"?sslmode=allow").Dial(t.Context(), nil); !errors.As(err, &e) || e.Class != Unreachable {
		t.Errorf("nobody there: %v", err)
	}
}
