// Command peers runs pgx's own test suite twice, straight at a server and
// through a recording retrace. The set of tests that pass must be the same:
// hundreds of tests, written by people who never thought of this proxy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	path := flag.String("retrace", "bin/retrace", "the program to run them through")
	flag.Parse()
	same, err := run(ctx, &program.Program{Path: *path})
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	case !same:
		os.Exit(1)
	}
}

func run(ctx context.Context, retrace *program.Program) (same bool, err error) {
	dir, err := os.MkdirTemp("", "retrace-peers-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := server(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	suite, err := unpack(ctx, filepath.Join(dir, "pgx"))
	if err != nil {
		return false, err
	}
	direct, err := suite.test(ctx, s.Addr)
	if err != nil {
		return false, err
	}
	fmt.Printf("direct: %s\n", direct)

	trace := filepath.Join(dir, "pgx.trace")
	c, err := retrace.Capture(ctx, s.URL("", ""), trace)
	if err != nil {
		return false, err
	}
	defer c.Kill()
	proxied, err := suite.test(ctx, c.Addr)
	if err != nil {
		return false, err
	}
	fmt.Printf("through retrace: %s\n", proxied)
	same, err = compare(ctx, suite, direct, proxied, c.Addr)
	return same, errors.Join(err, whole(ctx, retrace, c))
}

// compare lists the tests that passed only directly; each gets a second
// chance, since some tests of theirs depend on timing.
func compare(ctx context.Context, s *suite, direct, proxied results, addr string) (bool, error) {
	var lost []string
	for name, outcome := range direct {
		if outcome == "pass" && proxied[name] != "pass" {
			lost = append(lost, name)
		}
	}
	slices.Sort(lost)
	same := true
	for _, name := range lost {
		again, err := s.one(ctx, addr, name)
		if err != nil {
			return false, err
		}
		if again[name] != "pass" {
			same = false
			fmt.Printf("passes direct, through retrace %s: %s\n", orAbsent(again[name]), name)
		}
	}
	if same {
		fmt.Println("The same tests pass.")
	}
	return same, nil
}

func orAbsent(outcome string) string {
	if outcome == "" {
		return "did not run"
	}
	return outcome
}

// whole ends the recording and checks it.
func whole(ctx context.Context, retrace *program.Program, c *program.Capture) error {
	var report program.Captured
	r := c.Stop()
	if err := r.JSON(&report); err != nil {
		return err
	}
	fmt.Printf("recorded: %d sessions, %d statements, %d events missing\n", report.Sessions, report.Statements, report.Missing)
	if v := retrace.Run(ctx, "trace", "verify", c.Trace); v.Code != 0 {
		return fmt.Errorf("verifying what was recorded: %s", v)
	}
	return nil
}

// hba asks for the passwords that the suite's users have, in every way.
const hba = `
host all pgx_md5 127.0.0.1/32 md5
host all pgx_pw 127.0.0.1/32 password
host all pgx_scram 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
`

const users = `
set password_encryption = md5;
create user pgx_md5 with superuser password 'secret';
set password_encryption = 'scram-sha-256';
create user pgx_pw with superuser password 'secret';
create user pgx_scram with superuser password 'secret';
create user root with superuser;
create user " tricky, ' } "" \ test user " superuser password 'secret'`

const types = `create extension hstore; create extension ltree; create domain uint64 as numeric(20,0)`

// server prepares a server as the suite's own instructions say.
func server(ctx context.Context) (*dbtest.Server, error) {
	s, err := dbtest.Start(ctx, "", dbtest.Options{Settings: []string{"max_prepared_transactions=10"}})
	if err != nil {
		return nil, err
	}
	for _, sql := range []struct{ db, text string }{{"", users}, {"", "create database pgx_test"}, {"pgx_test", types}} {
		if _, err = s.SQL(ctx, sql.db, sql.text); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err = os.WriteFile(filepath.Join(s.Dir, "data", "pg_hba.conf"), []byte(hba), 0o600); err == nil {
		_, err = s.SQL(ctx, "", "select pg_reload_conf()")
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
