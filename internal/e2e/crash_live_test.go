package e2e

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// Each transaction says who it is: its client, and its number there.
const signed = `\set n :n + 1
select :client_id, :n;
`

// What a client saw completed more than a flush interval before a kill -9 must
// be in the trace, and no reader may take the torn trace for a whole one.
func TestKilledRecorderKeepsWhatWasDone(t *testing.T) {
	s := bank(t)
	file := filepath.Join(t.TempDir(), "signed.sql")
	if err := os.WriteFile(file, []byte(signed), 0o644); err != nil {
		t.Fatal(err)
	}
	for round := range short(20, 3) {
		t.Run(fmt.Sprint(round), func(t *testing.T) { killUnderLoad(t, s, file, round%3 == 1) })
	}
}

const flushed = 1200 * time.Millisecond

func killUnderLoad(t *testing.T, s *dbtest.Server, file string, rotate bool) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "t.trace")
	torn, args := path+".part", []string(nil)
	if rotate { // also where a file begins or ends
		path = filepath.Join(dir, "traces")
		torn, args = path, []string{"--rotate", "64KiB,700ms"}
	}
	c := capture(t, s.URL("", ""), path, args...)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(ended)
		// It fails when the proxy dies, and writes its log all the same.
		_, _ = dbtest.RunPgbench(ctx, c.Addr, "-n", "-f", file, "-D", "n=0", "-M", "simple", "-c", "8", "-j", "2",
			"-T", "60", "-l", "--log-prefix="+filepath.Join(dir, "log"))
	}()
	awaitLog(t, dir)
	time.Sleep(2*time.Second + time.Duration(rand.IntN(1500))*time.Millisecond)
	killed := time.Now()
	c.Kill()
	<-ended

	done := completed(t, dir, killed.Add(-flushed))
	if len(done) < 20 {
		t.Fatalf("pgbench completed only %d transactions in time", len(done))
	}
	if _, err := os.Stat(path); err == nil && !rotate {
		t.Error("a torn trace bears the name of a whole one")
	}
	run(t, 5, "trace", "verify", torn)
	recorded := map[string]bool{}
	for _, e := range events(t, torn) {
		if e.op.Statement() && e.answered {
			recorded[e.values] = true
		}
	}
	missing := 0
	for _, who := range done {
		if !recorded[who] {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d transactions completed more than %s before the kill are missing", missing, len(done), flushed)
	}
}

// awaitLog waits for pgbench to begin: on a busy machine that takes a while.
func awaitLog(t *testing.T, dir string) {
	t.Helper()
	for range 1000 {
		if logs, _ := filepath.Glob(filepath.Join(dir, "log.*")); len(logs) > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("pgbench did not begin")
}

// completed reads pgbench's logs: client and number of each transaction that
// was done before a time, as their digits stand in the statement.
func completed(t *testing.T, dir string, before time.Time) []string {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "log.*"))
	var all []string
	for _, path := range logs {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var client, n, took, script, sec, usec int64
			if _, err := fmt.Sscan(strings.TrimSpace(lines.Text()), &client, &n, &took, &script, &sec, &usec); err != nil {
				continue // the last line may be torn
			}
			if time.Unix(sec, usec*1000).Before(before) {
				all = append(all, fmt.Sprintf("%d%d", client, n))
			}
		}
	}
	return all
}
