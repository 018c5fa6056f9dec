package e2e

import (
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// PG-25: clients that vanish in the middle of COPY data vanish there in the
// replay, too: the rows do not come to be, and the replay goes on.
func TestClientsThatVanishInTheMiddleOfCOPY(t *testing.T) {
	s := dbtest.Postgres15(t)
	s.Psql(t, "create table ct (n int)")
	target := s.Clone(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "t.trace")
	c := capture(t, s.URL("", ""), path)
	for range 3 {
		conn, err := pgconn.Connect(t.Context(), c.URL("postgres")+"?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		conn.Frontend().SendQuery(&pgproto3.Query{String: "copy ct from stdin"})
		if err := conn.Frontend().Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Frontend().Receive(); err != nil {
			t.Fatal(err)
		}
		conn.Frontend().Send(&pgproto3.CopyData{Data: []byte("1\n2\n")})
		if err := conn.Frontend().Flush(); err != nil {
			t.Fatal(err)
		}
		if err := conn.Conn().Close(); err != nil {
			t.Fatal(err)
		}
	}
	report := stop(t, c)
	r := replay(t, path, target.URL("", ""), filepath.Join(dir, "run.trace"))
	if r.Statements.Captured != report.Statements || report.Statements != 3 || r.Diverged != 0 {
		t.Errorf("recorded %d statements, replayed %+v, diverged %d, reasons %v", report.Statements, r.Statements, r.Diverged, r.Reasons)
	}
	if n := target.Psql(t, "select count(*) from ct"); n != "0" {
		t.Errorf("%s rows of copies that were not ended", n)
	}
}
