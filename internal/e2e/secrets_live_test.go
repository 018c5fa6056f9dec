package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

// SE-01: no password reaches a trace, a run, a report or a message: neither that of a
// login, nor the one that replay uses, nor one inside a statement.
func TestPasswordsAreNowhere(t *testing.T) {
	const login, inside = "open-sesame-71", "swordfish-93"
	s := dbtest.Run(t, dbtest.Options{Password: login})
	target := s.Clone(t)
	dir := t.TempDir()
	path, run := filepath.Join(dir, "t.trace"), filepath.Join(dir, "run.trace")
	c := capture(t, "postgres://"+s.Addr, path)
	said := output(t, "", dbtest.Client(t.Context(), "psql", "-X", "-d", s.URLVia(c.Addr, "", ""),
		"-c", "create user ghost password '"+inside+"'", "-c", "alter role ghost with encrypted password '"+inside+"2'", "-c", "select 'plain-'||42"))
	if !strings.Contains(said, "plain-42") {
		t.Fatal(said)
	}
	r := c.Stop()
	want(t, r, 0)
	played := retrace.Run(t.Context(), "replay", path, "--target", target.URL("", ""), "-w", run, "-o", "json", "--max-diverged", "100")
	var report program.Replayed
	if err := played.JSON(&report); err != nil {
		t.Fatal(err)
	}
	sums(t, report)
	if report.Statements.Skipped != 2 || report.Statements.OK != 1 {
		t.Errorf("the two statements with passwords were to be skipped: %+v %v", report.Statements, report.Reasons)
	}
	failed := retrace.Run(t.Context(), "replay", path, "--target", strings.Replace(target.URL("", ""), login, login+"-wrong", 1), "-w", run+"2")
	want(t, failed, 1)

	texts := map[string][]byte{
		"capture": []byte(r.Out + r.Err), "replay": []byte(played.Out + played.Err), "failed replay": []byte(failed.Out + failed.Err),
	}
	for _, file := range []string{path, run} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cat := retrace.Run(t.Context(), "trace", "cat", file)
		texts[file], texts["cat "+file] = content, []byte(cat.Out+cat.Err)
		for _, e := range events(t, file) { // the file itself is compressed
			texts["inside "+file] = append(texts["inside "+file], e.sql+"\n"+e.shape+"\n"+e.values+"\n"...)
		}
	}
	if !bytes.Contains(texts["inside "+path], []byte("plain-")) {
		t.Errorf("the trace does not hold what it should: %q", texts["inside "+path])
	}
	for where, text := range texts {
		for _, secret := range []string{login, inside} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %q:\n%.500s", where, secret, text)
			}
		}
	}
}

// PG-19: PostgreSQL 18 speaks protocol 3.2, with cancel keys of 32 bytes.
func TestPostgres18WithLongCancelKeys(t *testing.T) {
	s := dbtest.Postgres18(t)
	target := s.Clone(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "t.trace")
	c := capture(t, s.URL("", ""), path)
	url := c.URL("postgres") + "?max_protocol_version=3.2&sslmode=disable"
	if _, err := pgx.ParseConfig(url); err != nil {
		t.Fatal(err)
	}
	said := pgxProgram(t.Context(), url)
	if !strings.Contains(said, "57014") || !strings.Contains(said, "gophers dig") {
		t.Errorf("through the proxy: %s", said)
	}
	report := stop(t, c)
	r := replay(t, path, target.URL("", ""), filepath.Join(dir, "run.trace"))
	if r.Statements.Captured != report.Statements || r.Diverged != 0 || r.Errors["57014"] != 1 {
		t.Errorf("recorded %d statements, replayed %+v, diverged %d, errors %v", report.Statements, r.Statements, r.Diverged, r.Errors)
	}
}
