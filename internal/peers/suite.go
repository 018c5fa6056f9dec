package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
)

const module = "github.com/jackc/pgx/v5"

// packages are those that talk to a server.
var packages = []string{".", "./pgconn/...", "./pgtype/...", "./pgxpool/...", "./stdlib/...", "./tracelog/...", "./multitracer/..."}

// suite is a copy of pgx in a folder of its own.
type suite struct{ dir string }

// results maps "package test" to pass, fail or skip.
type results map[string]string

func (r results) String() string {
	count := map[string]int{}
	for _, outcome := range r {
		count[outcome]++
	}
	return fmt.Sprintf("%d tests pass, %d fail, %d are skipped", count["pass"], count["fail"], count["skip"])
}

// unpack copies the version that go.mod names out of the module cache, where
// nothing may be written.
func unpack(ctx context.Context, dir string) (*suite, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", module, err)
	}
	if err := os.CopyFS(dir, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		return nil, err
	}
	return &suite{dir}, nil
}

func (s *suite) test(ctx context.Context, addr string) (results, error) {
	return s.run(ctx, addr, packages...)
}

// one runs a single test again; name is "package test".
func (s *suite) one(ctx context.Context, addr, name string) (results, error) {
	pkg, test, _ := strings.Cut(name, " ")
	top, _, _ := strings.Cut(test, "/")
	return s.run(ctx, addr, "-run", "^"+top+"$", "./"+strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/"))
}

func (s *suite) run(ctx context.Context, addr string, args ...string) (results, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-p=1", "-timeout=10m"}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), connections(addr)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	got := read(out)
	if len(got) == 0 {
		return nil, fmt.Errorf("no test ran: %w\n%s%s", err, said.Bytes(), out)
	}
	return got, nil // a failure of theirs is a result
}

func connections(addr string) []string {
	host, port, _ := net.SplitHostPort(addr)
	to := func(user string) string {
		return fmt.Sprintf("host=%s port=%s user=%s password=secret dbname=pgx_test", host, port, user)
	}
	return []string{
		"PGX_TEST_DATABASE=" + to("pgx_md5"),
		"PGX_TEST_TCP_CONN_STRING=" + to("pgx_md5"),
		"PGX_TEST_MD5_PASSWORD_CONN_STRING=" + to("pgx_md5"),
		"PGX_TEST_PLAIN_PASSWORD_CONN_STRING=" + to("pgx_pw"),
		"PGX_TEST_SCRAM_PASSWORD_CONN_STRING=" + to("pgx_scram") + " channel_binding=disable",
	}
}

func read(out []byte) results {
	got := results{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" {
			continue
		}
		switch e.Action {
		case "pass", "fail", "skip":
			got[e.Package+" "+e.Test] = e.Action
		}
	}
	return got
}
