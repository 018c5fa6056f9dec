package dbtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestServersAnswerInTheirVersion(t *testing.T) {
	for major, run := range map[int]func(testing.TB, ...string) *Server{15: Postgres15, 18: Postgres18} {
		s := run(t, "work_mem=7MB")
		got := s.Psql(t, "show server_version; show work_mem")
		if !strings.HasPrefix(got, "1") || !strings.HasSuffix(got, "\n7MB") {
			t.Errorf("PostgreSQL %d says %q", major, got)
		}
		if s.Major != major && major == 18 {
			t.Errorf("asked for %d, got %d", major, s.Major)
		}
	}
}

func TestServerRunsUnprivilegedAndOnlyOnLoopback(t *testing.T) {
	s := Postgres15(t)
	info, err := os.Stat("/proc/" + itoa(s.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 {
		t.Error("the server runs as root")
	}
	if got := s.Psql(t, "show listen_addresses; show unix_socket_directories"); got != "127.0.0.1\n" {
		t.Errorf("listens on %q", got)
	}
}

func TestPasswordIsAsked(t *testing.T) {
	s := Run(t, Options{Password: "open sesame"})
	if got := s.Psql(t, "select 1"); got != "1" {
		t.Errorf("got %q", got)
	}
	cmd := Client(t.Context(), "psql", "-X", "-w", "-h", "127.0.0.1", "-p", itoa(s.Port), "-U", User, "-c", "select 1")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("came in without the password: %s", out)
	}
}

func TestFreezeStopsAnswersAndThawBringsThem(t *testing.T) {
	s := Postgres15(t)
	s.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := s.SQL(ctx, "", "select 1"); err == nil {
		t.Error("a frozen server answered")
	}
	s.Thaw()
	if got := s.Psql(t, "select 2"); got != "2" {
		t.Errorf("got %q after the thaw", got)
	}
}

func TestStopAndRestartKeepPortAndData(t *testing.T) {
	s := Postgres15(t)
	s.Psql(t, "create table kept as select 5 as v")
	port := s.Port
	if err := errors.Join(s.Stop(), s.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := s.Psql(t, "select v from kept"); got != "5" || s.Port != port {
		t.Errorf("got %q on port %d, had port %d", got, s.Port, port)
	}
}

func TestKillLeavesNothingRunning(t *testing.T) {
	s := Postgres15(t)
	all := descendants(s.Pid())
	if len(all) < 3 {
		t.Fatalf("only %d processes: %v", len(all), all)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, all)
}

func TestCloneHasTheSameData(t *testing.T) {
	s := Postgres15(t)
	s.Pgbench(t, "-i", "-q", "-s", "1")
	c := s.Clone(t)
	const sum = "select count(*), sum(aid) from pgbench_accounts"
	if a, b := s.Psql(t, sum), c.Psql(t, sum); a != b || a != "100000|5000050000" {
		t.Errorf("original %s, copy %s", a, b)
	}
}

// A server must not outlive the program that started it, even if that is
// killed without a chance to clean up.
func TestServerDiesWithItsStarter(t *testing.T) {
	if os.Getenv("DBTEST_VICTIM") != "" {
		s := Postgres15(t)
		os.Stdout.WriteString("pid " + itoa(s.Pid()) + "\n")
		time.Sleep(time.Minute)
	}
	Postgres15(t) // skips where there is none
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithItsStarter$")
	left, err := tempDir("", account{}) // what a killed program leaves behind
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(left)
	cmd.Env = append(os.Environ(), "DBTEST_VICTIM=1", "TMPDIR="+left)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := readPid(t, out)
	all := descendants(pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	gone(t, all)
}

func gone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		pids = slices.DeleteFunc(pids, func(pid int) bool {
			f := stat(pid)
			return len(f) == 0 || f[0] == "Z"
		})
		if len(pids) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("still running: %v", pids)
}

func TestRivalsForward(t *testing.T) {
	s := Postgres15(t)
	p := HAProxy(t, s.Addr)
	b, err := RunPgbench(t.Context(), p.Addr, "-i", "-q")
	if err != nil {
		t.Fatal(err, b.Output)
	}
	if os.Getenv("CI") != "true" { // PgBouncer is for the bench only
		bouncer, err := StartPgBouncer(t.Context(), s.Addr)
		if err != nil {
			t.Skip(err)
		}
		defer bouncer.Close()
		b, err = RunPgbench(t.Context(), bouncer.Addr, "-S", "-n", "-t", "20", "-M", "prepared")
		if err != nil || b.Transactions != 20 || b.TPS == 0 {
			t.Errorf("%v: %+v", err, b)
		}
	}
}
