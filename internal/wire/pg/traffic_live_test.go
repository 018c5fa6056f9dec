package pg

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// wiretap is the simplest proxy there is: two pumps for each connection that
// race each other, each showing a conversation what it has just passed on. So
// the server's bytes are often seen before the client's that they answer.
type wiretap struct {
	t    *testing.T
	to   string
	mu   sync.Mutex
	over *sync.Cond // a connection has ended
	open int
	logs []*tally
}

// wait returns when no connection is open.
func (w *wiretap) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.open > 0 {
		w.over.Wait()
	}
}

func (w *wiretap) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open += n
	w.over.Broadcast()
}

// tally counts what a conversation says.
type tally struct {
	log
	requests map[Op]int
	outcomes map[Outcome]int
	results  uint64
	size     int
	err      error
}

func (y *tally) Request(r *Request) {
	y.requests[r.Op]++
	y.size += len(r.Bytes)
	var s Splitter
	if shape, _, _ := s.Split(r.Bytes); len(r.Bytes) > 0 && shape[0] == tokLiteral {
		y.add("not split: %q", r.Bytes)
	}
}

func (y *tally) Reply(r *Reply) {
	y.outcomes[r.Outcome]++
	y.results += uint64(r.Results)
	if r.Done < r.First || r.Outcome == Lost {
		y.add("%+v", *r)
	}
}

func newWiretap(t *testing.T, to string) (*wiretap, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wiretap{t: t, to: to}
	w.over = sync.NewCond(&w.mu)
	t.Cleanup(func() { l.Close(); w.wait() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			w.count(1)
			go w.serve(client)
		}
	}()
	return w, l.Addr().String()
}

// serve refuses encryption and joins the two ends.
func (w *wiretap) serve(client net.Conn) {
	defer w.count(-1)
	defer client.Close()
	var first []byte
	for {
		p, code, err := ReadStartup(client)
		if err != nil {
			return
		}
		if first = p; code != CodeSSL && code != CodeGSS {
			break
		}
		if _, err := client.Write([]byte("N")); err != nil {
			return
		}
	}
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer server.Close()
	y := &tally{log: log{quiet: true}, requests: map[Op]int{}, outcomes: map[Outcome]int{}}
	w.mu.Lock()
	w.logs = append(w.logs, y)
	w.mu.Unlock()
	c := NewConversation(y, Options{})
	var mu sync.Mutex
	pump := func(from io.Reader, to net.Conn, see func([]byte, int64) error) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			now := time.Now().UnixNano()
			if n > 0 {
				if _, werr := to.Write(buf[:n]); werr != nil {
					err = werr
				}
				mu.Lock()
				if ferr := see(buf[:n], now); ferr != nil && y.err == nil {
					y.err = ferr
				}
				mu.Unlock()
			}
			if err != nil {
				_ = to.(*net.TCPConn).CloseWrite()
				return
			}
		}
	}
	done := make(chan struct{})
	go func() { defer close(done); pump(server, client, c.Server) }()
	pump(io.MultiReader(strings.NewReader(string(first)), client), server, c.Client)
	<-done
	c.Close(time.Now().UnixNano(), "client_gone")
}

// total waits for the connections to end, checks that every one was followed
// to its end, and adds up what they said.
func (w *wiretap) total() (sum tally) {
	w.t.Helper()
	w.wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	sum.requests, sum.outcomes = map[Op]int{}, map[Outcome]int{}
	for _, y := range w.logs {
		if y.err != nil {
			w.t.Errorf("fault: %v", y.err)
		}
		for _, l := range y.lines {
			if !strings.HasPrefix(l, "started ") {
				w.t.Errorf("%s", l)
			}
		}
		for op, n := range y.requests {
			sum.requests[op] += n
		}
		for o, n := range y.outcomes {
			sum.outcomes[o] += n
		}
		sum.results += y.results
		sum.size += y.size
	}
	w.logs = nil
	return sum
}

// PG-26: what pgbench does must be counted as pgbench counts it.
func TestLivePgbench(t *testing.T) {
	s := dbtest.Postgres15(t)
	w, addr := newWiretap(t, s.Addr)
	run := func(args ...string) int {
		t.Helper()
		b, err := dbtest.RunPgbench(t.Context(), addr, args...)
		if err != nil {
			t.Fatal(err)
		}
		return int(b.Transactions)
	}
	if run("-i", "-q", "-s", "1"); w.total().requests[OpCopy] == 0 {
		t.Error("no COPY data in pgbench -i")
	}
	run("-t", "1", "-n") // what the preliminary session alone does
	before := w.total()
	alone := before.requests[OpQuery] - 7
	for _, mode := range []string{"simple", "extended", "prepared"} {
		for script, statements := range map[string]int{"tpcb-like": 7, "select-only": 1} {
			n := run("-n", "-M", mode, "-b", script, "-c", "4", "-t", "50")
			sum := w.total()
			queries, executes := alone, n*statements
			if mode == "simple" {
				queries, executes = alone+n*statements, 0
			}
			if n != 200 || sum.requests[OpQuery] != queries || sum.requests[OpExecute] != executes {
				t.Errorf("%s %s: %d transactions, %v, want %d queries and %d executes", mode, script, n, sum.requests, queries, executes)
			}
			if all := len2(sum.outcomes); all != len1(sum.requests) || sum.outcomes[OK] != all {
				t.Errorf("%s %s: %v requests, %v outcomes", mode, script, sum.requests, sum.outcomes)
			}
			if want := uint64(queries + executes); sum.results != want {
				t.Errorf("%s %s: %d results, want %d", mode, script, sum.results, want)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "pipeline.sql")
	if err := os.WriteFile(file, []byte(`\startpipeline
select 1;
select :client_id + 1;
begin;
update pgbench_branches set bbalance = bbalance + 1 where bid = 1;
end;
\endpipeline
`), 0o600); err != nil {
		t.Fatal(err)
	}
	n := run("-n", "-M", "extended", "-f", file, "-c", "4", "-t", "50")
	if sum := w.total(); sum.requests[OpExecute] != 5*n || sum.results != uint64(5*n) {
		t.Errorf("pipelines: %d transactions, %v, %d results", n, sum.requests, sum.results)
	}
}

func len1(m map[Op]int) (n int) {
	for _, k := range m {
		n += k
	}
	return n
}

func len2(m map[Outcome]int) (n int) {
	for _, k := range m {
		n += k
	}
	return n
}

// PG-26: psql, pg_dump and pg_restore speak the rest: COPY both ways, cursors, errors.
func TestLiveClients(t *testing.T) {
	s := dbtest.Postgres15(t)
	w, addr := newWiretap(t, s.Addr)
	dir := t.TempDir()
	client := func(program string, args ...string) string {
		t.Helper()
		out, err := dbtest.Client(t.Context(), program, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		return string(out)
	}
	url := "postgres://postgres@" + addr + "/postgres"
	csv := filepath.Join(dir, "t.csv")
	client("psql", "-X", "-v", "ON_ERROR_STOP=0", url, "-c", "create table t (a int, b text)",
		"-c", "insert into t select i, repeat('x', 100) from generate_series(1,20000) i",
		"-c", "\\copy t to '"+csv+"'", "-c", "\\copy t from '"+csv+"'", "-c", "select 1/0", "-c", "\\d+ t",
		"-c", "begin; declare c cursor for select * from t; fetch 5 from c; commit", "-c", "select 1; select 2; select 3",
		"-c", "\\set FETCH_COUNT 100", "-c", "select * from t")
	sum := w.total()
	if sum.requests[OpCopy] < 20 || sum.outcomes[Failed] != 1 || sum.size < 2_000_000 {
		t.Errorf("%v %v %d bytes", sum.requests, sum.outcomes, sum.size)
	}
	file := filepath.Join(dir, "dump")
	client("pg_dump", "-Fc", "-f", file, url)
	client("psql", "-X", url, "-c", "create database copy")
	client("pg_restore", "-d", "postgres://postgres@"+addr+"/copy", file)
	if sum := w.total(); sum.requests[OpCopy] < 20 || sum.outcomes[Failed] != 0 {
		t.Errorf("%v %v", sum.requests, sum.outcomes)
	}
	for _, dump := range []string{"postgres", "copy"} {
		got, err := s.SQL(t.Context(), dump, "select count(*), sum(a), sum(length(b)) from t")
		if err != nil || got != "40000|400020000|4000000" {
			t.Errorf("%s: %s %v", dump, got, err)
		}
	}
	client("pg_basebackup", "-c", "fast", "-D", filepath.Join(dir, "base"), "-X", "stream", "-d", url)
	w.total()
}
