package dbtest

import (
	"context"
	"os"
	"strings"
	"testing"
)

// Postgres15 runs Debian's PostgreSQL until the test ends. Settings are
// name=value as in postgresql.conf.
func Postgres15(t testing.TB, settings ...string) *Server {
	t.Helper()
	return Run(t, Options{Major: 15, Settings: settings})
}

// Postgres18 runs PostgreSQL 18 until the test ends: protocol 3.2, long cancel
// keys, direct TLS.
func Postgres18(t testing.TB, settings ...string) *Server {
	t.Helper()
	return Run(t, Options{Major: 18, Settings: settings})
}

// Run runs a server until the test ends.
func Run(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Major == 0 {
		o.Major = 15
	}
	if _, err := find(o.Major); err != nil {
		Missing(t, err.Error())
	}
	s, err := Start(context.Background(), "", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.finish(t) })
	return s
}

func (s *Server) finish(t testing.TB) {
	if said := s.Log(); t.Failed() && said != "" {
		t.Logf("PostgreSQL %d on port %d said:\n%s", s.Major, s.Port, lastLines(said, 40))
	}
	if err := s.Close(); err != nil {
		t.Logf("closing the server: %v", err)
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Missing ends a test that needs something this machine lacks: skipped for a
// person at a desk, failed in CI (CI=true), where a skipped test hides.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s", what)
	}
	t.Skipf("%s", what)
}
