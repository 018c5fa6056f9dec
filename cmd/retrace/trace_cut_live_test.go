package main

import (
	"context"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// A part from the middle replays with its prepared statements and settings.
func TestCutReplays(t *testing.T) {
	s := dbtest.Postgres15(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	dir := t.TempDir()
	whole, part := filepath.Join(dir, "whole"), filepath.Join(dir, "part.trace")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan string, 1)
	go func() {
		_, _, talk := ranWith(ctx, nil, "capture", "--listen", addr, "--target", s.URL("", ""), "-w", whole, "--rotate", "200ms", "-q")
		done <- talk
	}()
	c := connectTo(t, s.URLVia(addr, "", "")+"?sslmode=disable")
	run := func(sql string, args ...any) {
		t.Helper()
		if _, err := c.Exec(context.Background(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("create schema part; create table part.only_there (a int)")
	run("set search_path = part")
	run("insert into only_there values ($1)", 1)
	time.Sleep(1200 * time.Millisecond)
	cut := time.Now().UTC()
	for i := range 5 {
		run("insert into only_there values ($1)", i)
	}
	_ = c.Close(context.Background())
	stop()
	if talk := <-done; strings.Contains(talk, "retrace:") {
		t.Errorf("capture: %s", talk)
	}
	code, _, talk := ranWith(t.Context(), nil, "trace", "cut", whole, "--from", cut.Format(time.RFC3339Nano), "-w", part)
	if code != 0 || !regexp.MustCompile(`1 sessions, 6 events, 5 statements`).MatchString(talk) {
		t.Fatalf("exit %d: %s", code, talk)
	}
	code, out, talk := ranWith(t.Context(), nil, "replay", part, "--target", s.URL("", ""), "--allow-captured-target")
	if code != 0 || !strings.Contains(out, "0 of 5 statements") {
		t.Errorf("exit %d\n%s%s", code, out, talk)
	}
	var n int
	if err := connectTo(t, s.URL("", "")+"?sslmode=disable").QueryRow(t.Context(), "select count(*) from part.only_there").Scan(&n); err != nil || n != 11 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// connectTo waits for whoever is to listen there.
func connectTo(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	for range 200 {
		if c, err := pgx.Connect(t.Context(), url); err == nil {
			return c
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("nobody listens")
	return nil
}
