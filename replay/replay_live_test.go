package replay

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/target"
	"github.com/retrace-db/retrace/trace"
)

// live replays a recording against a database of a server.
func live(t testing.TB, recorded []byte, url string, change ...func(*Options)) *Summary {
	t.Helper()
	s, err := liveRun(t, recorded, url, change...)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Accounted {
		t.Errorf("%+v %v", s, s.Why)
	}
	return s
}

func liveRun(t testing.TB, recorded []byte, url string, change ...func(*Options)) (*Summary, error) {
	t.Helper()
	to, err := target.Parse(url, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Target: to, Pace: PaceClosed, Warn: func(text string) { t.Log(text) }}
	for _, c := range change {
		c(&o)
	}
	return Run(t.Context(), trace.NewReader(bytes.NewReader(recorded), "recording"), o)
}

func threads(o *Options) { o.threads = true }

// both runs a test with sessions on loops and on goroutines.
func both(t *testing.T, test func(t *testing.T, how func(*Options))) {
	t.Run("loops", func(t *testing.T) { test(t, func(*Options) {}) })
	t.Run("goroutines", func(t *testing.T) { test(t, threads) })
}

// connect is a client of the recorder.
func connect(t testing.TB, r *recorder, s *dbtest.Server, db string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.URLVia(r.addr(), dbtest.User, db)+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// databases makes two databases with the same content: one to record on, others
// to replay on.
func databases(t testing.TB, s *dbtest.Server, sql string, names ...string) {
	t.Helper()
	for _, name := range names {
		s.Psql(t, "create database "+name)
		if _, err := s.SQL(t.Context(), name, sql); err != nil {
			t.Fatal(err)
		}
	}
}

func count(t testing.TB, s *dbtest.Server, db, sql string) string {
	t.Helper()
	out, err := s.SQL(t.Context(), db, sql)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func TestLivePgbench(t *testing.T) {
	s := dbtest.Postgres15(t)
	s.Pgbench(t, "-i", "-q", "-s", "1")
	s.Psql(t, "create database copy template postgres")
	script := t.TempDir() + "/pipeline.sql"
	pipeline := "\\set aid random(1, 100000)\n\\startpipeline\nselect abalance from pgbench_accounts where aid = :aid;\nupdate pgbench_accounts set abalance = 1 where aid = :aid;\n\\endpipeline\n"
	if err := os.WriteFile(script, []byte(pipeline), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"simple", "extended", "prepared"} {
		for name, args := range map[string][]string{"tpcb": {"-b", "tpcb-like"}, "select": {"-S"}, "pipeline": {"-f", script}} {
			if mode == "simple" && name == "pipeline" {
				continue
			}
			t.Run(mode+" "+name, func(t *testing.T) {
				r := tap(t, s.Addr)
				args := append([]string{"-n", "-M", mode, "-c", "4", "-j", "2", "-t", "50"}, args...)
				if _, err := dbtest.RunPgbench(t.Context(), r.addr(), args...); err != nil {
					t.Fatal(err)
				}
				recorded := r.trace()
				both(t, func(t *testing.T, how func(*Options)) {
					sum := live(t, recorded, s.URL("", "copy"), how)
					// tpcb-like's updates of few rows wait for each other and do not fail.
					if sum.Statements.OK != sum.Statements.Captured || sum.Diverged != 0 || sum.Events.OK != sum.Events.Captured {
						t.Errorf("%+v %v %v", sum.Statements, sum.Errors, sum.Reasons)
					}
				})
			})
		}
	}
}

// PG-02 and PG-12: what the server made of a batch, it makes of its replay.
func TestLiveBatchesWithErrors(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table ct(a int)", "a", "b", "c")
	r := tap(t, s.Addr)
	c := connect(t, r, s, "a")
	batch := &pgx.Batch{}
	for _, sql := range []string{"insert into ct values(90)", "select 1/0", "insert into ct values(91)"} {
		batch.Queue(sql)
	}
	ctx := t.Context()
	if err := c.SendBatch(ctx, batch).Close(); err == nil {
		t.Error("the division by zero went well")
	}
	for _, sql := range []string{"insert into ct values(77); select 1/0; insert into ct values(78)", "insert into ct values(1)"} {
		_, _ = c.PgConn().Exec(ctx, sql).ReadAll()
	}
	// A pipeline with two errors and two Syncs, in one write.
	p := c.PgConn().StartPipeline(ctx)
	for _, sql := range []string{"insert into ct values(2)", "select 1/0", "insert into ct values(3)"} {
		p.SendQueryParams(sql, nil, nil, nil, nil)
	}
	_ = p.Sync()
	p.SendQueryParams("insert into ct values(4)", nil, nil, nil, nil)
	_ = p.Sync()
	_ = p.Close()
	_ = c.Close(ctx)
	recorded := r.trace()
	want := count(t, s, "a", "select string_agg(a::text, ',' order by a) from ct")
	if want != "1,4" {
		t.Fatalf("the recorded server has %s", want)
	}
	for db, how := range map[string]func(*Options){"b": func(*Options) {}, "c": threads} {
		sum := live(t, recorded, s.URL("", db), how)
		if got := count(t, s, db, "select string_agg(a::text, ',' order by a) from ct"); got != want {
			t.Errorf("replayed: %s, recorded: %s", got, want)
		}
		if sum.Diverged != 0 || sum.Errors["22012"] != 3 || sum.Reasons["aborted"] < 1 {
			t.Errorf("%+v %v %v", sum.Statements, sum.Errors, sum.Reasons)
		}
	}
}

func TestLiveFailedTransaction(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table k(a int primary key)", "a", "b", "c")
	for _, db := range []string{"b", "c"} {
		count(t, s, db, "insert into k values (2)") // so that the replay fails there
	}
	r := tap(t, s.Addr)
	c := connect(t, r, s, "a")
	ctx := t.Context()
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 { // prepared by its first use, within the transaction
		if _, err := tx.Exec(ctx, "insert into k values ($1)", n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Exec(ctx, "select count(*) from k where a > $1", 1); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if _, err := c.Exec(ctx, "select count(*) from k where a > $1", n); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Close(ctx)
	recorded := r.trace()
	for db, how := range map[string]func(*Options){"b": func(*Options) {}, "c": threads} {
		sum := live(t, recorded, s.URL("", db), how)
		// begin, 2 inserts; then the conflict; 2 inserts and the select skipped;
		// commit answered ROLLBACK; the selects afterwards go well.
		want := Tally{Captured: 11, OK: 6, Error: 2, Skipped: 3}
		if sum.Statements != want || sum.Errors["23505"] != 1 || sum.Errors["rolled_back"] != 1 || sum.PreparedAgain != 1 {
			t.Errorf("%+v %v %v, prepared again %d", sum.Statements, sum.Errors, sum.Reasons, sum.PreparedAgain)
		}
	}
}

func TestLiveCopyIn(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table t(a int, b text)", "a", "b", "c", "without")
	count(t, s, "without", "drop table t")
	r := tap(t, s.Addr)
	c := connect(t, r, s, "a")
	ctx := t.Context()
	rows := make([][]any, 20_000)
	for i := range rows {
		rows[i] = []any{int32(i), strings.Repeat("x", i%50)}
	}
	if _, err := c.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a", "b"}, pgx.CopyFromRows(rows)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "select count(*) from t"); err != nil {
		t.Fatal(err)
	}
	_ = c.Close(ctx)
	psql := s.Client(ctx, "psql", "-X", "-d", s.URLVia(r.addr(), dbtest.User, "a"), "-c", "copy t from stdin")
	psql.Stdin = strings.NewReader(strings.Repeat("7\tpsql\n", 50_000))
	if out, err := psql.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	recorded := r.trace()
	const sums = "select count(*), sum(a), sum(length(b)) from t"
	for db, how := range map[string]func(*Options){"b": func(*Options) {}, "c": threads} {
		sum := live(t, recorded, s.URL("", db), how)
		if got, want := count(t, s, db, sums), count(t, s, "a", sums); got != want {
			t.Errorf("replayed %s, recorded %s", got, want)
		}
		if sum.Events.OK != sum.Events.Captured || sum.Diverged != 0 {
			t.Errorf("%+v %v %v", sum.Events, sum.EventErrors, sum.EventReasons)
		}
	}
	both(t, func(t *testing.T, how func(*Options)) {
		sum := live(t, recorded, s.URL("", "without"), how)
		if sum.EventReasons[reasonCopy] == 0 || sum.Errors["42P01"] < 2 || sum.Statements.Lost+sum.Statements.Unsent != 0 {
			t.Errorf("%+v %v %v", sum.Statements, sum.EventErrors, sum.EventReasons)
		}
	})
}

func TestLiveCancel(t *testing.T) {
	s := dbtest.Postgres15(t)
	r := tap(t, s.Addr)
	c := connect(t, r, s, "")
	ctx := t.Context()
	stop := time.AfterFunc(200*time.Millisecond, func() { _ = c.PgConn().CancelRequest(t.Context()) })
	defer stop.Stop()
	var code *pgconn.PgError
	if _, err := c.Exec(ctx, "select pg_sleep(20)"); !errors.As(err, &code) || code.Code != "57014" {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "select 1"); err != nil {
		t.Fatal(err)
	}
	_ = c.Close(ctx)
	recorded := r.trace()
	for _, pace := range []string{PaceOriginal, PaceClosed} {
		both(t, func(t *testing.T, how func(*Options)) {
			began := time.Now()
			sum := live(t, recorded, s.URL("", ""), how, func(o *Options) { o.Pace = pace })
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if sum.Errors["57014"] != 1 || sum.Statements.OK != 1 || sum.Diverged != 0 || sum.Sessions != 2 {
				t.Errorf("%+v %v %v", sum, sum.Errors, sum.EventReasons)
			}
		})
	}
}

// Replies that fill every buffer while requests are still being written.
func TestLiveBigPipeline(t *testing.T) {
	s := dbtest.Postgres15(t)
	r := tap(t, s.Addr)
	c := connect(t, r, s, "")
	ctx := t.Context()
	batch := &pgx.Batch{}
	for n := range 2000 {
		batch.Queue("select repeat($1::text, 20), $2::int", strings.Repeat("y", 2000), n)
	}
	if err := c.SendBatch(ctx, batch).Close(); err != nil {
		t.Fatal(err)
	}
	_ = c.Close(ctx)
	recorded := r.trace()
	both(t, func(t *testing.T, how func(*Options)) {
		sum := live(t, recorded, s.URL("", ""), how)
		if sum.Statements.OK < 2000 || sum.Diverged != 0 {
			t.Errorf("%+v %v", sum.Statements, sum.Reasons)
		}
	})
}

// The target goes away in the middle: all is accounted for, and nobody hangs.
func TestLiveTargetKilled(t *testing.T) {
	s := dbtest.Postgres15(t)
	s.Pgbench(t, "-i", "-q", "-s", "1")
	to := s.Clone(t)
	r := tap(t, s.Addr)
	if _, err := dbtest.RunPgbench(t.Context(), r.addr(), "-n", "-S", "-c", "8", "-t", "2000"); err != nil {
		t.Fatal(err)
	}
	recorded := r.trace()
	both(t, func(t *testing.T, how func(*Options)) {
		var kill sync.Once
		sum := live(t, recorded, to.URL("", ""), how, func(o *Options) {
			o.Started = func(p *Progress) {
				go func() {
					for p.Now().Statements < 1000 {
						time.Sleep(time.Millisecond)
					}
					kill.Do(func() { _ = to.Kill() })
				}()
			}
		})
		st := sum.Statements
		if st.OK < 1000 || st.Lost == 0 || st.Unsent == 0 || st.OK == st.Captured || sum.SessionsLost == 0 {
			t.Errorf("%+v %v", st, sum.Reasons)
		}
		if sum.Reasons[reasonServerGone] != st.Lost || sum.Reasons[reasonLost]+sum.Reasons[reasonUnconnect] != st.Unsent {
			t.Errorf("%+v %v", st, sum.Reasons)
		}
		if err := to.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// many records sessions that are open at the same time.
func many(t *testing.T, s *dbtest.Server, n int) []byte {
	t.Helper()
	r := tap(t, s.Addr)
	var all []*pgx.Conn
	for range n {
		all = append(all, connect(t, r, s, ""))
	}
	for _, c := range all {
		if _, err := c.Exec(t.Context(), "select 1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range all {
		_ = c.Close(t.Context())
	}
	return r.trace()
}

func TestLiveFullTarget(t *testing.T) {
	s := dbtest.Postgres15(t, "max_connections=250")
	full := dbtest.Postgres15(t, "max_connections=20")
	recorded := many(t, s, 200)
	again := func(trace.ReadOptions) (*trace.Reader, error) {
		return trace.NewReader(bytes.NewReader(recorded), "again"), nil
	}
	_, err := liveRun(t, recorded, full.URL("", ""), func(o *Options) {
		o.Known, o.Again = &trace.Summary{Totals: trace.Totals{Sessions: 200}}, again
	})
	if err == nil || !strings.Contains(err.Error(), "200 sessions") || !strings.Contains(err.Error(), "max_connections") {
		t.Errorf("preflight says %v", err)
	}
	// From a pipe, nothing is known beforehand.
	both(t, func(t *testing.T, how func(*Options)) {
		sum := live(t, recorded, full.URL("", ""), how, original)
		if sum.EventErrors["53300"] == 0 || sum.SessionsFailed == 0 || sum.Statements.OK+sum.Statements.Unsent != sum.Statements.Captured {
			t.Errorf("%+v %v %v", sum.Statements, sum.EventErrors, sum.Reasons)
		}
	})
}

func TestLiveBadTargets(t *testing.T) {
	s := dbtest.Run(t, dbtest.Options{Password: "sesame"})
	plain := dbtest.Postgres15(t)
	recorded := many(t, plain, 1)
	address := strings.TrimPrefix(s.Addr, "")
	port, err := dbtest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, url, want string }{
		{"wrong password", "postgres://postgres:hunter2@" + address + "/postgres", "28P01"},
		{"nobody there", fmt.Sprintf("postgres://postgres:hunter2@127.0.0.1:%d", port), "connection refused"},
		{"no such name", "postgres://postgres:hunter2@nosuchhost.invalid", "does not resolve"},
		{"no such database", plain.URL("", "nosuchdb"), "3D000"},
	} {
		_, err := liveRun(t, recorded, c.url)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if sum := live(t, recorded, s.URL("", "")); sum.Statements.OK != 1 {
		t.Errorf("with the password: %+v", sum)
	}
}

func TestLiveMissingRecordedDatabase(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "select 1", "shop")
	r := tap(t, s.Addr)
	c := connect(t, r, s, "shop")
	_ = c.Close(t.Context())
	recorded := r.trace()
	other := dbtest.Postgres15(t)
	_, err := liveRun(t, recorded, strings.TrimSuffix(other.URL("", ""), "/postgres"))
	if err == nil || !strings.Contains(err.Error(), "shop") {
		t.Errorf("got %v", err)
	}
}

// The session's own parameters are those that were recorded.
func TestLiveSessionSettings(t *testing.T) {
	s := dbtest.Postgres15(t)
	databases(t, s, "create table seen(application_name text, datestyle text, work_mem text)", "a", "b")
	r := tap(t, s.Addr)
	url := s.URLVia(r.addr(), dbtest.User, "a") + "?sslmode=disable&application_name=shop&datestyle=German&options=-c%20work_mem%3D7MB"
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	const sql = "insert into seen select current_setting('application_name'), current_setting('datestyle'), current_setting('work_mem')"
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	_ = c.Close(t.Context())
	t.Setenv("PGAPPNAME", "somebody else")
	t.Setenv("PGOPTIONS", "-c work_mem=9MB")
	live(t, r.trace(), s.URL("", "b"))
	if got, want := count(t, s, "b", "select * from seen"), count(t, s, "a", "select * from seen"); got != want || !strings.Contains(got, "shop|German") {
		t.Errorf("replayed %q, recorded %q", got, want)
	}
}

// Over TLS a session has a goroutine, over a Unix socket a loop can take it.
func TestLiveTransports(t *testing.T) {
	sockets := t.TempDir()
	for dir := sockets; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o777)
	}
	cert, key := certificate(t)
	s := dbtest.Postgres15(t, "unix_socket_directories="+sockets, "ssl=on", "ssl_cert_file="+cert, "ssl_key_file="+key)
	s.Pgbench(t, "-i", "-q", "-s", "1")
	r := tap(t, s.Addr)
	if _, err := dbtest.RunPgbench(t.Context(), r.addr(), "-n", "-c", "4", "-t", "50"); err != nil {
		t.Fatal(err)
	}
	recorded := r.trace()
	for name, url := range map[string]string{
		"tls":    "postgres://postgres@" + s.Addr + "/postgres?sslmode=require",
		"prefer": "postgres://postgres@" + s.Addr + "/postgres",
		"plain":  "postgres://postgres@" + s.Addr + "/postgres?sslmode=disable",
		"socket": fmt.Sprintf("postgres:///postgres?user=postgres&host=%s&port=%d", sockets, s.Port),
	} {
		t.Run(name, func(t *testing.T) {
			sum := live(t, recorded, url)
			if sum.Events.OK != sum.Events.Captured || sum.Diverged != 0 {
				t.Errorf("%+v %v %v", sum.Events, sum.EventErrors, sum.EventReasons)
			}
		})
	}
}

// certificate makes a key pair that the server's user may read.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		_ = os.Chmod(d, 0o755)
	}
	cert, key = dir+"/server.crt", dir+"/server.key"
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "EC PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if u, err := user.Lookup("postgres"); err == nil && os.Getuid() == 0 {
			uid, _ := strconv.Atoi(u.Uid)
			if err := os.Chown(path, uid, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cert, key
}
