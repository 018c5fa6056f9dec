package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

// says expects an exit code and words in what is said on stderr.
func says(t *testing.T, code int, words []string, args ...string) program.Result {
	t.Helper()
	r := run(t, code, args...)
	for _, w := range words {
		if !strings.Contains(r.Err, w) {
			t.Errorf("retrace %s does not say %q: %s", strings.Join(args, " "), w, r)
		}
	}
	return r
}

// sample records a little traffic.
func sample(t *testing.T, s *dbtest.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.trace")
	c := capture(t, s.URL("", ""), path)
	pgbench(t, c.Addr, "-n", "-c", "4", "-t", "2000", "-S", "-M", "prepared")
	stop(t, c)
	return path
}

func TestWhatIsNoTraceIsNamed(t *testing.T) {
	dir := t.TempDir()
	files := map[string][]byte{
		"empty":  {},
		"text":   []byte("2026-11-30 10:00:00 LOG: statement: select 1\n"),
		"random": noise(1 << 16),
	}
	verbs := [][]string{{"trace", "info"}, {"trace", "verify"}, {"trace", "cat"}, {"analyze"}, {"replay", "--target", "postgres://127.0.0.1:1", "-w", dir + "/run"}}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range verbs {
			r := retrace.Run(t.Context(), append(verb, path)...)
			if r.Code != 1 && r.Code != 5 || !strings.Contains(r.Err, path) {
				t.Errorf("%v of a file that is %s: %s", verb, name, r)
			}
		}
	}
	says(t, 1, []string{"no-such-file"}, "trace", "info", filepath.Join(dir, "no-such-file"))
}

func TestTornAndDamagedTracesAreReadAsFarAsTheyGo(t *testing.T) {
	s := bank(t)
	target := s.Clone(t)
	whole := sample(t, s)
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	var all program.Info
	read(t, &all, 0, "trace", "info", whole)
	dir := t.TempDir()

	torn := filepath.Join(dir, "torn.trace")
	write(t, torn, content[:len(content)*2/3])
	damaged := filepath.Join(dir, "damaged.trace")
	bad := bytes.Clone(content)
	copy(bad[len(bad)/2:], noise(64))
	write(t, damaged, bad)

	for _, path := range []string{torn, damaged} {
		says(t, 5, []string{path}, "trace", "verify", path)
		run(t, 5, "analyze", path)
		r := retrace.Run(t.Context(), "replay", path, "--target", target.URL("", ""), "-w", path+".run", "--pace", "closed", "-o", "json")
		var replayed program.Replayed
		if err := r.JSON(&replayed); err != nil || r.Code != 5 {
			t.Fatalf("%v %s", err, r)
		}
		sums(t, replayed)
		if n := replayed.Statements.Captured; n == 0 || n >= all.Statements {
			t.Errorf("%d of %d statements were read from %s", n, all.Statements, path)
		}
	}
	// info trusts the headers of blocks, so it sees only what is cut off.
	var info program.Info
	read(t, &info, 5, "trace", "info", torn)
	if info.Complete || info.Statements >= all.Statements {
		t.Errorf("torn, of %d statements: %+v", all.Statements, info)
	}
}

// Every byte of a trace that is changed is found by verify.
func TestVerifyFindsEveryChangedByte(t *testing.T) {
	s := bank(t)
	content, err := os.ReadFile(sample(t, s))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "changed.trace")
	for range short(60, 15) {
		at := rand.IntN(len(content))
		bad := bytes.Clone(content)
		bad[at] ^= 1 << rand.IntN(8)
		write(t, path, bad)
		if r := retrace.Run(t.Context(), "trace", "verify", path); r.Code != 5 && r.Code != 1 {
			t.Fatalf("byte %d of %d changed: %s", at, len(content), r)
		}
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func TestGarbageOnTheListeningPortHarmsNobody(t *testing.T) {
	s := bank(t)
	c := capture(t, s.URL("", ""), filepath.Join(t.TempDir(), "t.trace"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	load := make(chan error, 1)
	go func() {
		_, err := dbtest.RunPgbench(ctx, c.Addr, "-n", "-S", "-c", "2", "-T", "4")
		load <- err
	}()
	garbage := [][]byte{
		[]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},              // a TLS hello
		{0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0},                 // 2 GiB of start packet
		{0, 0, 0, 4},                                         // shorter than itself
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},     // negative
		{0, 0, 0, 8, 4, 210, 22, 47, 0, 0, 0, 8, 4, 210, 22}, // SSLRequest, then torn
		{},
		{0},
		noise(100_000),
	}
	for range 20 {
		for _, g := range garbage {
			throw(t, c.Addr, g)
		}
	}
	if err := <-load; err != nil {
		t.Errorf("traffic beside it suffered: %v", err)
	}
	if rss := dbtest.PeakRSS(c.Pid); rss > 64<<20 {
		t.Errorf("memory went up to %d MiB", rss>>20)
	}
	r := c.Stop()
	want(t, r, 0)
}

func throw(t *testing.T, addr string, b []byte) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = c.Write(b)
	_ = c.(*net.TCPConn).CloseWrite()
	_, _ = c.Read(make([]byte, 512))
}

func TestTargetThatIsDownOrFull(t *testing.T) {
	s := bank(t)
	trace := sample(t, s)
	dir := t.TempDir()
	port, err := dbtest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	nobody := fmt.Sprintf("127.0.0.1:%d", port)
	says(t, 1, []string{nobody}, "replay", trace, "--target", "postgres://postgres@"+nobody, "-w", dir+"/down.run")

	c := capture(t, "postgres://"+nobody, filepath.Join(dir, "down.trace"))
	out := output(t, "", dbtest.Client(t.Context(), "psql", "-X", "-d", c.URL("postgres"), "-c", "select 1"))
	if !strings.Contains(out, "FATAL") && !strings.Contains(out, "closed the connection") {
		t.Errorf("a client of a proxy without target sees %q", out)
	}
	c.Stop()

	full := dbtest.Postgres15(t, "max_connections=5", "superuser_reserved_connections=0")
	full.Pgbench(t, "-i", "-q")
	r := retrace.Run(t.Context(), "replay", trace, "--target", full.URL("", ""), "-w", dir+"/full.run", "--pace", "closed")
	if r.Code == 0 && strings.Contains(r.Err, "53300") {
		t.Errorf("sessions were refused, and yet: %s", r)
	}
	many := filepath.Join(dir, "many.trace")
	c = capture(t, s.URL("", ""), many)
	pgbench(t, c.Addr, "-n", "-c", "20", "-t", "20", "-S")
	stop(t, c)
	r = retrace.Run(t.Context(), "replay", many, "--target", full.URL("", ""), "-w", dir+"/many.run", "--pace", "original")
	if r.Code != 1 && r.Code != 3 || !strings.Contains(r.Err, "connection") {
		t.Errorf("20 sessions on a server for 5: %s", r)
	}
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	s := bank(t)
	trace := sample(t, s)
	target := s.Clone(t)
	out := filepath.Join(t.TempDir(), "run")
	for _, speed := range []string{"0", "-1", "NaN", "Inf", "fast"} {
		says(t, 2, []string{"speed", "Try:"}, "replay", trace, "--target", target.URL("", ""), "-w", out, "--speed="+speed)
	}
	says(t, 2, []string{"Try:"}, "replay", trace, "--target", target.URL("", ""), "-w", out, "--speed", "2", "--pace", "closed")
	replay(t, trace, target.URL("", ""), out, "--speed", "1e9")
	says(t, 1, []string{out}, "replay", trace, "--target", target.URL("", ""), "-w", out) // there already
	says(t, 2, []string{"holds no requests"}, "replay", out, "--target", target.URL("", ""), "-w", out+"2")
	says(t, 2, []string{"allow-captured-target"}, "replay", trace, "--target", s.URL("", ""), "-w", out+"3")
	r := retrace.Run(t.Context(), "capture", "--target", s.URL("", ""), "--listen", s.Addr, "-w", out+"4")
	if r.Code != 1 && r.Code != 2 || !strings.Contains(r.Err, s.Addr) {
		t.Errorf("listening where somebody listens: %s", r)
	}
	if _, err := os.Stat(out + "4"); err == nil {
		t.Error("a recording that never began left a trace")
	}
}
