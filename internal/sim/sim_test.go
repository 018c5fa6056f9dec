package sim

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The thread that starts servers lives as long as the process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/retrace-db/retrace/internal/dbtest.init.func1.1"))
}

// start serves until the test ends, and returns the server and its URL.
func start(t testing.TB, o Options) (*Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, "postgres://app@" + l.Addr().String() + "/shop?sslmode=prefer"
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// latency reads rules as the command line does.
func latency(t testing.TB, texts ...string) []Latency {
	t.Helper()
	all := make([]Latency, len(texts))
	for i, text := range texts {
		if err := all[i].UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func faults(t testing.TB, texts ...string) []Fault {
	t.Helper()
	all := make([]Fault, len(texts))
	for i, text := range texts {
		if err := all[i].UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func codeOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestEveryModeOfPgxReadsWhatItWrote(t *testing.T) {
	s, url := start(t, Options{})
	for i, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			c := connect(t, url)
			ctx := t.Context()
			var one, price int
			if err := c.QueryRow(ctx, "select 1", mode).Scan(&one); err != nil || one != 1 {
				t.Fatal(one, err)
			}
			if _, err := c.Exec(ctx, "insert into product (id, price, name) values ($1, $2, $3)", mode, i, 100, "pear's"); err != nil {
				t.Fatal(err)
			}
			if tag, err := c.Exec(ctx, "update product set price = price - $1, name = 'apple' where id = $2", mode, 30-i, i); err != nil || tag.String() != "UPDATE 1" {
				t.Fatal(tag, err)
			}
			var name string
			if err := c.QueryRow(ctx, "select price, name from product where id = $1", mode, i).Scan(&price, &name); err != nil || price != 70+i || name != "apple" {
				t.Fatal(price, name, err)
			}
			if _, err := c.Exec(ctx, "insert into product (id, price) values ($1, $2)", mode, i, 1); codeOf(err) != "23505" {
				t.Errorf("inserted twice: %v", err)
			}
			if tag, err := c.Exec(ctx, "delete from product where id = $1", mode, i); err != nil || tag.RowsAffected() != 1 {
				t.Error(tag, err)
			}
			if err := c.QueryRow(ctx, "select price from product where id = $1", mode, i).Scan(&price); !errors.Is(err, pgx.ErrNoRows) {
				t.Errorf("deleted, and there: %v", err)
			}
			if err := c.DeallocateAll(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	got := s.Truth()
	if got.Statements.Error != 5 || got.Errors["23505"] != 5 || got.Tables["product"] != 0 || got.Connections != 5 {
		t.Errorf("%+v", got)
	}
}

func TestRollbackTakesBack(t *testing.T) {
	_, url := start(t, Options{})
	c, other := connect(t, url), connect(t, url)
	ctx := t.Context()
	run := func(c *pgx.Conn, sql string) string {
		t.Helper()
		tag, err := c.Exec(ctx, sql)
		if err != nil && codeOf(err) == "" {
			t.Fatal(err)
		}
		return tag.String() + codeOf(err)
	}
	value := func(key int) (v int) {
		t.Helper()
		if err := other.QueryRow(ctx, "select v from kv where k = $1", key).Scan(&v); errors.Is(err, pgx.ErrNoRows) {
			return -1
		} else if err != nil {
			t.Fatal(err)
		}
		return v
	}
	run(c, "insert into kv (k, v) values (1, 10)")
	run(c, "begin")
	run(c, "update kv set v = v + 5 where k = 1")
	run(c, "insert into kv (k, v) values (2, 20)")
	run(other, "update kv set v = v + 100 where k = 1")
	run(c, "savepoint a")
	run(c, "delete from kv where k = 2")
	run(c, "rollback to a")
	if v := value(2); v != 20 {
		t.Errorf("after ROLLBACK TO it is %d", v)
	}
	if got := run(c, "insert into kv (k, v) values (2, 21)"); got != "23505" {
		t.Error(got)
	}
	if got := run(c, "select 1"); got != "25P02" {
		t.Error(got)
	}
	if got := run(c, "commit"); got != "ROLLBACK" {
		t.Error(got)
	}
	if a, b := value(1), value(2); a != 110 || b != -1 {
		t.Errorf("after the rollback: %d, %d", a, b)
	}
	// A pipeline is a transaction of its own, a Query message too.
	run(c, "insert into kv (k, v) values (3, 1); insert into kv (k, v) values (1, 1)")
	batch := &pgx.Batch{}
	batch.Queue("insert into kv (k, v) values (4, 1)")
	batch.Queue("insert into kv (k, v) values (1, 1)")
	batch.Queue("insert into kv (k, v) values (5, 1)")
	if err := c.SendBatch(ctx, batch).Close(); codeOf(err) != "23505" {
		t.Error(err)
	}
	for _, key := range []int{3, 4, 5} {
		if v := value(key); v != -1 {
			t.Errorf("key %d is there: %d", key, v)
		}
	}
}

func TestCancelEndsAStatementAndNothingElse(t *testing.T) {
	s, url := start(t, Options{Latency: latency(t, "text:slow:1h")})
	c := connect(t, url)
	if err := c.PgConn().CancelRequest(t.Context()); err != nil { // while idle
		t.Fatal(err)
	}
	timer := time.AfterFunc(100*time.Millisecond, func() { _ = c.PgConn().CancelRequest(context.Background()) })
	defer timer.Stop()
	if _, err := c.Exec(t.Context(), "select 'slow'"); codeOf(err) != "57014" {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "select 'fast'"); err != nil {
		t.Fatal(err)
	}
	if got := s.Truth(); got.Errors["57014"] != 1 || got.Cancels != 2 || got.Statements.OK == 0 {
		t.Errorf("%+v", got)
	}
}

func TestTooManyConnections(t *testing.T) {
	s, url := start(t, Options{MaxConnections: 2})
	a := connect(t, url)
	connect(t, url)
	if c, err := pgx.Connect(t.Context(), url); codeOf(err) != "53300" {
		t.Fatalf("%v %v", c, err)
	}
	_ = a.Close(t.Context())
	for range 100 { // the server notices a little later
		if c, err := pgx.Connect(t.Context(), url); err == nil {
			_ = c.Close(t.Context())
			if got := s.Truth(); got.Refused == 0 || got.Connections != 3 {
				t.Errorf("%+v", got)
			}
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the place that was left stays taken")
}

func TestConnectionBreaksInTheMiddleOfAnAnswer(t *testing.T) {
	s, url := start(t, Options{Drop: 1, Rows: 1000})
	c := connect(t, url)
	rows := 0
	read, err := c.Query(t.Context(), "select everything from somewhere", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	for read.Next() {
		rows++
	}
	if read.Err() == nil || codeOf(read.Err()) != "" {
		t.Errorf("%d rows and then %v", rows, read.Err())
	}
	if got := s.Truth().Statements; got.Unanswered != 1 || got.Answered != 0 {
		t.Errorf("%+v", got)
	}
}

func TestSuspendedPortals(t *testing.T) {
	s, url := start(t, Options{Rows: 7})
	c := connect(t, url).PgConn()
	ctx := t.Context()
	p := c.StartPipeline(ctx)
	p.SendPrepare("", "select many from somewhere", nil)
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	f := c.Frontend()
	f.SendBind(bindUnnamed)
	for range 4 {
		f.SendExecute(execute3)
	}
	f.SendSync(syncMessage)
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	got := ""
	for {
		m, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		kind := shortName(m)
		got += kind
		if kind == "Z" {
			break
		}
	}
	// The fourth Execute is one of a portal that has come to its end.
	if got != "2DDDsDDDsDCCZ" {
		t.Error(got)
	}
	if n := s.Truth().Statements.Answered; n != 1 {
		t.Errorf("counted %d statements", n)
	}
}

// What the schedule draws depends on how many statements there were, not on
// who sent them.
func TestErrorsAreDeterministic(t *testing.T) {
	counts := map[uint64]bool{}
	for _, sessions := range []int{1, 4} {
		s, url := start(t, Options{Faults: faults(t, "text:mark:40001:10%", "text:mark:57014:5%"), Seed: 7})
		done := make(chan error, sessions)
		for range sessions {
			c := connect(t, url)
			go func() {
				for range 2000 / sessions {
					_, err := c.Exec(context.Background(), "select 'mark'", pgx.QueryExecModeSimpleProtocol)
					if err != nil && codeOf(err) == "" {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range sessions {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		got := s.Truth()
		a, b := got.Errors["40001"], got.Errors["57014"]
		if a < 150 || a > 250 || b < 60 || b > 140 || got.Statements.OK != 2000-a-b {
			t.Errorf("%+v", got)
		}
		counts[a<<32|b] = true
	}
	if len(counts) != 1 {
		t.Errorf("the same seed, and other errors: %v", counts)
	}
}
