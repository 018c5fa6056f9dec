package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// What is understood is answered as a real server answers it: the same
// messages, rows, tags, SQLSTATEs and transaction states.
func TestAnswersAreThoseOfARealServer(t *testing.T) {
	real := dbtest.Postgres15(t)
	real.Psql(t, "create table kv (k bigint primary key, v bigint, w text)")
	_, url := start(t, Options{})
	for name, messages := range conversations {
		t.Run(name, func(t *testing.T) {
			real.Psql(t, "truncate kv")
			want, got := talk(t, real.URL("", ""), messages), talk(t, url, messages)
			if want != got {
				t.Errorf("a real server:\n%s\nthe simulated one:\n%s", want, got)
			}
			_ = talk(t, url, []pgproto3.FrontendMessage{query("delete from kv where k = 1; delete from kv where k = 2")})
		})
	}
}

func query(sql string) *pgproto3.Query { return &pgproto3.Query{String: sql} }

// prepare, and run with text values.
func run(sql string, values ...string) []pgproto3.FrontendMessage {
	bind := &pgproto3.Bind{}
	for _, v := range values {
		bind.Parameters = append(bind.Parameters, []byte(v))
	}
	return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: sql}, bind, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}}
}

func join(parts ...[]pgproto3.FrontendMessage) []pgproto3.FrontendMessage {
	var all []pgproto3.FrontendMessage
	for _, p := range parts {
		all = append(all, p...)
	}
	return append(all, &pgproto3.Sync{})
}

var conversations = map[string][]pgproto3.FrontendMessage{
	"simple": {
		query("select 1"), query("select 'it''s', null, -5"), query(""), query(" ; "), query("insert into kv (k, v) values (1, 10)"),
		query("insert into kv (k, v) values (1, 10)"), query("update kv set v = v + -3, w = 'x' where k = 1"), query("select v, w, k from kv where k = 1"),
		query("insert into kv (k, v) values (1, 5) on conflict do nothing"), query("insert into kv (k, v) values (1, 5) on conflict (k) do update set v = excluded.v"),
		query("select v from kv where k = 1"), query("delete from kv where k = 1"), query("delete from kv where k = 1"), query("select v from kv where k = 1"),
		query("update kv set v = 1 where k = 1"), query("select $1"), query("select v from kv where k = null"),
	},
	"transactions": {
		query("begin"), query("begin; select 1"), query("savepoint a"), query("insert into kv (k, v) values (1, 1)"), query("insert into kv (k, v) values (1, 1)"),
		query("select 1"), query("rollback to b"), query("rollback to a"), query("select v from kv where k = 1"), query("release a"), query("commit"),
		query("begin"), query("insert into kv (k, v) values (1, 1)"), query("select $1"), query("commit"), query("select v from kv where k = 1"),
		query("savepoint a"), query("start transaction"), query("end"), query("begin"), query("abort"), query("rollback"), query("commit"),
		query("insert into kv (k, v) values (2, 2); insert into kv (k, v) values (2, 2); select 1"), query("select v from kv where k = 2"),
		query("deallocate nobody"), query("deallocate all"), query("discard all"),
	},
	"pipelines": join(
		run("insert into kv (k, v) values ($1, $2)", "1", "5"), run("select v from kv where k = $1", "1"), run("insert into kv (k, v) values (1, 1)"),
		run("select 1"), []pgproto3.FrontendMessage{&pgproto3.Sync{}},
		run("select v from kv where k = 1"), run(""), []pgproto3.FrontendMessage{&pgproto3.Close{ObjectType: 'S', Name: "nobody"}, &pgproto3.Flush{}},
		[]pgproto3.FrontendMessage{&pgproto3.Execute{Portal: "nobody"}}, run("select 1"), []pgproto3.FrontendMessage{&pgproto3.Sync{}},
		[]pgproto3.FrontendMessage{&pgproto3.Bind{PreparedStatement: "nobody"}, &pgproto3.Execute{}},
	),
	"named": join(
		[]pgproto3.FrontendMessage{
			&pgproto3.Parse{Name: "a", Query: "select v from kv where k = $1"}, &pgproto3.Describe{ObjectType: 'S', Name: "a"},
			&pgproto3.Parse{Name: "a", Query: "select 1"}, &pgproto3.Sync{}, &pgproto3.Bind{PreparedStatement: "a"}, &pgproto3.Sync{},
			&pgproto3.Parse{Query: "select 1; select 2"}, &pgproto3.Sync{}, &pgproto3.Close{ObjectType: 'S', Name: "a"},
			&pgproto3.Bind{PreparedStatement: "a", Parameters: [][]byte{[]byte("1")}}, &pgproto3.Sync{},
		},
		run("begin"), run("select x from nothing where z = 1 and y = 2"),
	)[:13],
	"failed transaction": join(
		run("begin"), run("insert into kv (k, v) values (1, 1)"), run("insert into kv (k, v) values (1, 1)"), []pgproto3.FrontendMessage{&pgproto3.Sync{}},
		run("select 1"), []pgproto3.FrontendMessage{&pgproto3.Sync{}}, run("commit"), []pgproto3.FrontendMessage{&pgproto3.Sync{}}, run("select v from kv where k = 1"),
	),
}

// talk sends messages, each up to the next that is answered by ReadyForQuery,
// and writes down what comes.
func talk(t *testing.T, url string, messages []pgproto3.FrontendMessage) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	f := conn.PgConn().Frontend()
	var said strings.Builder
	for _, m := range messages {
		f.Send(m)
		switch m.(type) {
		case *pgproto3.Query, *pgproto3.Sync:
			if err := f.Flush(); err != nil {
				t.Fatal(err)
			}
			hear(t, f, &said)
		}
	}
	return said.String()
}

func hear(t *testing.T, f *pgproto3.Frontend, said *strings.Builder) {
	for {
		m, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.NoticeResponse:
			continue
		case *pgproto3.CommandComplete:
			fmt.Fprintf(said, "%s\n", m.CommandTag)
		case *pgproto3.DataRow:
			fmt.Fprintf(said, "%q\n", m.Values)
		case *pgproto3.RowDescription:
			for _, c := range m.Fields {
				fmt.Fprintf(said, "%s %d %d, ", c.Name, c.DataTypeOID, c.DataTypeSize)
			}
			said.WriteString("\n")
		case *pgproto3.ParameterDescription:
			fmt.Fprintln(said, m.ParameterOIDs)
		case *pgproto3.ErrorResponse:
			fmt.Fprintln(said, m.Severity, m.Code)
		case *pgproto3.ReadyForQuery:
			fmt.Fprintf(said, "%c\n", m.TxStatus)
			return
		default:
			fmt.Fprintln(said, shortName(m))
		}
	}
}

const transfer = `\set a random(1, 10)
\set b random(1, 10)
begin;
update account set balance = balance + 2 where id = :a;
update account set balance = balance - 1 where id = :b;
select balance from account where id = :a;
commit;
`

// psql and pgbench, which no one here wrote.
func TestRealClients(t *testing.T) {
	dbtest.Postgres15(t) // their programs are those of a server
	s, url := start(t, Options{Rows: 1})
	address := strings.TrimSuffix(strings.TrimPrefix(url, "postgres://app@"), "/shop?sslmode=prefer")
	out, err := dbtest.Client(t.Context(), "psql", "-X", "-At", "-d", url, "-c", "select 1", "-c", "begin", "-c", "commit").CombinedOutput()
	if err != nil || string(out) != "1\nBEGIN\nCOMMIT\n" {
		t.Errorf("psql: %v: %s", err, out)
	}
	script := filepath.Join(t.TempDir(), "transfer.sql")
	if err := os.WriteFile(script, []byte(transfer), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"simple", "extended", "prepared"} {
		before := s.Truth()
		b, err := dbtest.RunPgbench(t.Context(), address, "-n", "-M", mode, "-f", script, "-c", "4", "-t", "50")
		if err != nil || b.Transactions != 200 || b.Failed != 0 {
			t.Fatalf("%s: %v %s", mode, err, b.Output)
		}
		if got := s.Truth().Statements.OK - before.Statements.OK; got != 5*200 {
			t.Errorf("%s: %d statements, want %d", mode, got, 5*200)
		}
	}
	conn := connect(t, url)
	var sum, one int
	for key := range 10 {
		if err := conn.QueryRow(t.Context(), "select balance from account where id = $1", key+1).Scan(&one); err != nil {
			t.Fatal(err)
		}
		sum += one
	}
	if sum != 600 {
		t.Errorf("600 transactions of 2 − 1 left %d", sum)
	}
	tag, err := conn.Exec(t.Context(), "select pg_size()")
	if err != nil || tag.String() != "SELECT 0" {
		t.Errorf("a question about the server: %v %v", tag, err)
	}
}
