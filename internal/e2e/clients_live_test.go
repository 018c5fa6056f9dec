package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

// A client is a program that prints the same whenever it meets the same data.
type client struct {
	name string
	run  func(t *testing.T, addr string) string

	// Its sessions share a snapshot by an identifier that a server makes up,
	// so a replay of them cannot come out the same.
	snapshots bool
}

// PG-26: real clients must not notice the proxy. Each runs directly on one server and
// through the proxy on a copy of it; what it prints must be equal, and so must
// the databases afterwards. What was recorded must hold together, too.
func TestClientsPrintTheSameThroughTheProxy(t *testing.T) {
	direct := bank(t)
	proxied := direct.Clone(t)
	target := proxied.Clone(t)
	dir := t.TempDir()
	for _, cl := range clientPrograms(t) {
		t.Run(cl.name, func(t *testing.T) {
			path := filepath.Join(dir, cl.name+".trace")
			c := capture(t, proxied.URL("", ""), path)
			wanted := cl.run(t, direct.Addr)
			got := cl.run(t, c.Addr)
			stop(t, c)
			if len(wanted) < 20 {
				t.Fatalf("the program says next to nothing: %q", wanted)
			}
			sameText(t, wanted, got)
			sameText(t, dump(t, direct), dump(t, proxied))
			run(t, 0, "trace", "verify", path)
			replaySettled(t, cl, path, target.URL("", ""), filepath.Join(dir, cl.name+".run"))
		})
	}
}

// replaySettled replays what a client did on a copy that has seen the same
// before, at the recorded times, since the client's sessions wait for each
// other. Whatever it did comes out as it did.
func replaySettled(t *testing.T, cl client, path, target, run string) {
	t.Helper()
	var info program.Info
	read(t, &info, 0, "trace", "info", path)
	var args []string
	if cl.snapshots {
		args = []string{"--max-diverged", "100"}
	}
	r := replay(t, path, target, run, args...)
	s := r.Statements
	if s.Captured != info.Statements || s.Lost+s.Unsent > 0 {
		t.Errorf("recorded %d statements, replayed %+v, why %v", info.Statements, s, r.Reasons)
	}
	if r.Diverged > 0 && !cl.snapshots {
		t.Errorf("%d of %d statements came out otherwise than recorded: errors %v, reasons %v", r.Diverged, s.Captured, r.Errors, r.Reasons)
	}
}

func dump(t *testing.T, s *dbtest.Server) string {
	t.Helper()
	return output(t, "", dbtest.Client(t.Context(), "pg_dump", "-d", s.URL("", "")))
}

// varying is what differs between two equal runs: process ids, addresses in
// memory, pg_dump's keys.
var varying = regexp.MustCompile(`PID \d+|0x[0-9a-f]{8,}|restrict \w{20,}`)

// output runs a command and returns all it says, with words for its server's
// address and for what varies.
func output(t *testing.T, addr string, cmd *exec.Cmd) string {
	t.Helper()
	stuck := time.AfterFunc(90*time.Second, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	out, err := cmd.CombinedOutput()
	text := varying.ReplaceAllString(string(out), "VARYING")
	if _, port, ok := strings.Cut(addr, ":"); ok {
		text = regexp.MustCompile(`(:|port[= "]+)`+port+`\b`).ReplaceAllString(text, "${1}PORT")
	}
	if err != nil {
		text += fmt.Sprintf("\n%v", err)
	}
	return text
}

func sameText(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Errorf("first difference in line %d of %d and %d:\ndirect  %.300q\nproxied %.300q", i+1, len(a), len(b), lineAt(a, i), lineAt(b, i))
			return
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(ended)"
}

func url(addr string) string { return "postgres://" + dbtest.User + "@" + addr + "/postgres" }

func clientPrograms(t *testing.T) []client {
	t.Helper()
	return []client{
		{name: "psql", run: func(t *testing.T, addr string) string {
			return output(t, addr, dbtest.Client(t.Context(), "psql", "-X", "-d", url(addr), "-f", "testdata/psql.sql"))
		}},
		{name: "pg_dump", run: func(t *testing.T, addr string) string {
			plain := output(t, addr, dbtest.Client(t.Context(), "pg_dump", "-d", url(addr)))
			inserts := output(t, addr, dbtest.Client(t.Context(), "pg_dump", "--inserts", "--rows-per-insert=500", "-d", url(addr)))
			return plain + inserts
		}},
		{name: "pg_restore", run: dumpAndRestore, snapshots: true},
		{name: "pgx", run: func(t *testing.T, addr string) string {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			return pgxProgram(ctx, url(addr))
		}},
		{name: "psycopg2", run: func(t *testing.T, addr string) string { return python(t, addr, "psycopg2") }},
		{name: "psycopg3", run: func(t *testing.T, addr string) string { return python(t, addr, "psycopg3") }},
		{name: "pgjdbc", run: java},
	}
}

// dumpAndRestore saves the database in directory format with two connections,
// restores it to a new one with two, and prints that.
func dumpAndRestore(t *testing.T, addr string) string {
	saved := filepath.Join(t.TempDir(), "saved")
	said := output(t, addr, dbtest.Client(t.Context(), "pg_dump", "-Fd", "-j", "2", "-f", saved, "-d", url(addr)))
	again := "postgres://" + dbtest.User + "@" + addr + "/restored"
	for _, args := range [][]string{
		{"psql", "-X", "-d", url(addr), "-c", "drop database if exists restored", "-c", "create database restored"},
		{"pg_restore", "-j", "2", "-d", again, saved},
		{"pg_dump", "-d", again},
	} {
		said += output(t, addr, dbtest.Client(t.Context(), args[0], args[1:]...))
	}
	return said
}

func python(t *testing.T, addr, script string) string {
	module := map[string]string{"psycopg2": "psycopg2", "psycopg3": "psycopg"}[script]
	if err := exec.Command("/usr/bin/python3", "-c", "import "+module).Run(); err != nil {
		dbtest.Missing(t, "python3-"+module+" is missing: run `make setup`")
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/app_"+script+".py", url(addr))
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"}
	return output(t, addr, cmd)
}

const jdbc = "/usr/share/java/postgresql.jar"

func java(t *testing.T, addr string) string {
	compiler, err := exec.LookPath("javac")
	if _, missing := os.Stat(jdbc); err != nil || missing != nil {
		dbtest.Missing(t, "javac or "+jdbc+" is missing: run `make setup`")
	}
	classes := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), compiler, "-cp", jdbc, "-d", classes, "testdata/App.java").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	machine := filepath.Join(filepath.Dir(compiler), "java")
	cmd := exec.CommandContext(t.Context(), machine, "-cp", jdbc+":"+classes, "App", "jdbc:postgresql://"+addr+"/postgres")
	return output(t, addr, cmd)
}
