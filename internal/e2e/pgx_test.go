package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgxProgram uses pgx as applications do and returns what it saw: prepared
// statements, batches, COPY, pipelines, notifications, cancels, large objects.
func pgxProgram(ctx context.Context, url string) string {
	said := &strings.Builder{}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err.Error()
	}
	defer conn.Close(ctx)
	steps := []func(context.Context, *pgx.Conn, *strings.Builder) error{
		pgxTables, pgxQueries, pgxBatch, pgxPipeline, pgxNotify, pgxCancel, pgxModes,
	}
	for i, step := range steps {
		if err := step(ctx, conn, said); err != nil {
			fmt.Fprintf(said, "step %d: %v\n", i, err)
		}
	}
	return said.String()
}

func pgxTables(ctx context.Context, c *pgx.Conn, said *strings.Builder) error {
	tag, err := c.Exec(ctx, "drop table if exists gx; create table gx (id int primary key, v text, at timestamptz, b bytea)")
	fmt.Fprintln(said, tag, err)
	var rows [][]any
	for i := range 3000 {
		rows = append(rows, []any{i, fmt.Sprintf("v%d", i), time.Unix(int64(i), 0), []byte{0, byte(i)}})
	}
	n, err := c.CopyFrom(ctx, pgx.Identifier{"gx"}, []string{"id", "v", "at", "b"}, pgx.CopyFromRows(rows))
	fmt.Fprintln(said, n, err)
	_, err = c.CopyFrom(ctx, pgx.Identifier{"gx"}, []string{"id"}, pgx.CopyFromRows([][]any{{1}}))
	fmt.Fprintln(said, err)
	return nil
}

func pgxQueries(ctx context.Context, c *pgx.Conn, said *strings.Builder) error {
	for i := range 5 {
		var v string
		var at time.Time
		err := c.QueryRow(ctx, "select v, at from gx where id = $1", i*7).Scan(&v, &at)
		fmt.Fprintln(said, v, at.Unix(), err)
	}
	rows, err := c.Query(ctx, "select id, v, b from gx where id = any($1) order by id", []int{1, 2, 3})
	if err != nil {
		return err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToMap)
	fmt.Fprintln(said, all, err)
	_, err = c.Exec(ctx, "insert into gx values ($1, $2)", 1, "twice")
	fmt.Fprintln(said, err)
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "select 1/0")
	fmt.Fprintln(said, err, tx.Commit(ctx))
	return nil
}

func pgxBatch(ctx context.Context, c *pgx.Conn, said *strings.Builder) error {
	for _, bad := range []bool{false, true} {
		b := &pgx.Batch{}
		for i := range 10 {
			b.Queue("update gx set v = v || $1 where id = $2", "!", i)
			if bad && i == 4 {
				b.Queue("select 1/$1::int", 0)
			}
		}
		results := c.SendBatch(ctx, b)
		for range b.Len() {
			tag, err := results.Exec()
			fmt.Fprintln(said, tag, err)
		}
		fmt.Fprintln(said, results.Close())
	}
	return nil
}

func pgxPipeline(ctx context.Context, c *pgx.Conn, said *strings.Builder) error {
	p := c.PgConn().StartPipeline(ctx)
	p.SendPrepare("one", "select $1::int + 1", nil)
	p.SendQueryPrepared("one", [][]byte{[]byte("41")}, nil, nil)
	p.SendQueryParams("select 'params'", nil, nil, nil, nil)
	if err := p.Sync(); err != nil {
		return err
	}
	p.SendQueryParams("select 1/0", nil, nil, nil, nil)
	p.SendQueryParams("select 'skipped'", nil, nil, nil, nil)
	if err := p.Sync(); err != nil {
		return err
	}
	for range 6 {
		r, err := p.GetResults()
		if reader, ok := r.(*pgconn.ResultReader); ok {
			got := reader.Read()
			fmt.Fprintln(said, got.Rows, got.CommandTag, got.Err)
		} else {
			fmt.Fprintf(said, "%T %v\n", r, err)
		}
	}
	return p.Close()
}

func pgxNotify(ctx context.Context, c *pgx.Conn, said *strings.Builder) error {
	if _, err := c.Exec(ctx, "listen gophers"); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "notify gophers, 'dig'"); err != nil {
		return err
	}
	n, err := c.WaitForNotification(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(said, n.Channel, n.Payload)
	return nil
}

// pgxCancel sends a real cancel request, as libpq's PQcancel does.
func pgxCancel(ctx context.Context, c *pgx.Conn, said *strings.Builder) error {
	done := make(chan error, 1)
	go func() {
		time.Sleep(300 * time.Millisecond)
		done <- c.PgConn().CancelRequest(ctx)
	}()
	_, err := c.Exec(ctx, "select pg_sleep(20)")
	var server *pgconn.PgError
	fmt.Fprintln(said, errors.As(err, &server), err, <-done)
	return nil
}

func pgxModes(ctx context.Context, c *pgx.Conn, said *strings.Builder) error {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		var sum int
		err := c.QueryRow(ctx, "select sum(id) from gx where id < $1 and v <> $2", mode, 100, "it's").Scan(&sum)
		fmt.Fprintln(said, mode, sum, err)
	}
	return c.DeallocateAll(ctx)
}
