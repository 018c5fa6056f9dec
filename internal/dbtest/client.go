package dbtest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Psql runs SQL and returns what psql prints, unaligned and without headers.
func (s *Server) Psql(t testing.TB, sql string) string {
	t.Helper()
	out, err := s.SQL(context.Background(), "", sql)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// SQL is Psql outside tests; db "" is postgres.
func (s *Server) SQL(ctx context.Context, db, sql string) (string, error) {
	cmd := s.Client(ctx, "psql", "-X", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", s.URL("", db), "-c", sql)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// Client is a command of a PostgreSQL client program, free of the caller's
// PG* environment. The program is Debian's for every version of server.
func (s *Server) Client(ctx context.Context, program string, args ...string) *exec.Cmd {
	return Client(ctx, program, args...)
}

// Client is a command of a PostgreSQL client program: psql, pgbench, pg_dump…
func Client(ctx context.Context, program string, args ...string) *exec.Cmd {
	path := program
	if in, err := find(15); err == nil {
		path = in.program(program)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "PGCONNECT_TIMEOUT=10", "PGAPPNAME=" + program}
	return cmd
}
