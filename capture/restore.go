package capture

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retrace-db/retrace/internal/target"
	"github.com/retrace-db/retrace/trace"
)

// restoreSession is the name under which the coordinates are asked for.
const restoreSession = "retrace capture"

// whereAt asks for the end of the write-ahead log, which is past all that was
// acknowledged, asynchronous commits included. A standby has what it replayed.
const whereAt = `select pg_is_in_recovery(),
 case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end,
 case when pg_is_in_recovery() then (select timeline_id from pg_control_checkpoint())
  else ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int end,
 (select system_identifier from pg_control_system()),
 to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

// RestorePoint says where in the server's write-ahead log a recording begins,
// and marks the place if point is not empty.
func RestorePoint(ctx context.Context, to *target.Target, point string) (*trace.Restore, error) {
	c, err := to.Admin(ctx, "", restoreSession)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }() // nothing is under way
	r, err := readCoordinates(ctx, c)
	if err != nil || point == "" {
		return r, err
	}
	row, err := oneRow(ctx, c, "select pg_create_restore_point($1)", point)
	if err != nil {
		return nil, refusedPoint(err, r.Standby)
	}
	r.Point, r.LSN = point, row[0]
	return r, nil
}

// CheckRestorePoint finds out whether RestorePoint will work, and changes
// nothing.
func CheckRestorePoint(ctx context.Context, to *target.Target, point string) error {
	c, err := to.Admin(ctx, "", restoreSession)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	r, err := readCoordinates(ctx, c)
	if err != nil || point == "" {
		return err
	}
	row, err := oneRow(ctx, c, "select has_function_privilege('pg_create_restore_point(text)', 'execute')")
	if err == nil && (r.Standby || row[0] != "t") {
		err = refusedPoint(errors.New("permission denied"), r.Standby)
	}
	return err
}

func readCoordinates(ctx context.Context, c *pgconn.PgConn) (*trace.Restore, error) {
	row, err := oneRow(ctx, c, whereAt)
	if err != nil {
		return nil, fmt.Errorf("the target does not tell its place in the write-ahead log: %w; record without --restore-point, and take a snapshot or a clone at the beginning", err)
	}
	r := &trace.Restore{Standby: row[0] == "t", LSN: row[1], SystemIdentifier: row[3], ServerTime: row[4]}
	if r.Timeline, err = strconv.ParseInt(row[2], 10, 64); err != nil {
		return nil, fmt.Errorf("the target's timeline: %w", err)
	}
	return r, nil
}

func refusedPoint(err error, standby bool) error {
	advice := "let a superuser run `grant execute on function pg_create_restore_point to …`, or give --restore-point without a name"
	if standby {
		advice = "the target is a standby, which cannot create one: give --restore-point without a name"
	}
	return fmt.Errorf("the target creates no restore point: %w; %s", err, advice)
}

// oneRow runs a query of one row.
func oneRow(ctx context.Context, c *pgconn.PgConn, sql string, args ...string) ([]string, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	got := c.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	if got.Err != nil {
		return nil, got.Err
	}
	if len(got.Rows) != 1 {
		return nil, fmt.Errorf("%d rows came instead of one", len(got.Rows))
	}
	row := make([]string, len(got.Rows[0]))
	for i, v := range got.Rows[0] {
		row[i] = string(v)
	}
	return row, nil
}
