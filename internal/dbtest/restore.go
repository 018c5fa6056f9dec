package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Archive is where a server with ArchiveSettings keeps its write-ahead log.
func (s *Server) Archive() string { return filepath.Join(s.Dir, "archive") }

// ArchiveSettings have a server archive its write-ahead log.
func ArchiveSettings() []string {
	return []string{"archive_mode=on", "archive_command=mkdir -p ../archive && cp %p ../archive/%f"}
}

// BaseBackup is a copy of the files of a server that goes on running, taken by
// pg_basebackup. It is a server that Recover starts.
func (s *Server) BaseBackup(t testing.TB) *Server {
	t.Helper()
	home, err := tempDir("", s.who)
	if err != nil {
		t.Fatal(err)
	}
	c := &Server{Major: s.Major, Dir: home, in: s.in, who: s.who, settings: s.settings, password: s.password}
	t.Cleanup(func() { c.finish(t) })
	cmd := exec.Command(s.in.program("pg_basebackup"), "-d", s.URL("", ""), "-D", c.data(), "-c", "fast", "-X", "none", "--no-sync")
	cmd.Env, cmd.Dir = s.in.env(), "/"
	s.who.apply(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	return c
}

// Recover starts a base backup and has it recover from an archive as far as the
// settings say, then promote.
func (s *Server) Recover(t testing.TB, archive string, settings ...string) {
	t.Helper()
	settings = append(settings, fmt.Sprintf("restore_command = 'cp %s/%%f %%p'", archive), "recovery_target_action = 'promote'")
	conf, err := os.OpenFile(filepath.Join(s.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conf.WriteString(strings.Join(settings, "\n") + "\n")
	signal := filepath.Join(s.data(), "recovery.signal")
	err = errors.Join(err, conf.Close(), os.WriteFile(signal, nil, 0o600), s.who.own(signal))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.startSomewhere(context.Background()); err != nil {
		t.Fatal(err)
	}
}
