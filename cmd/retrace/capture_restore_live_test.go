package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// The README's way to bring a target to the capture's start is true: a copy of
// the server, recovered to the place that the trace names, and a replay of what
// was recorded from the middle of a session on, make the tables of the source.
func TestRecoverAndReplay(t *testing.T) {
	source := dbtest.Run(t, dbtest.Options{Settings: dbtest.ArchiveSettings()})
	source.Psql(t, `create table account (id int primary key, balance int not null);
		insert into account select n, 100 from generate_series(1, 50) n;
		create table history (id int primary key, account int, delta int, note text)`)
	byLSN, byName := source.BaseBackup(t), source.BaseBackup(t)

	control := freeAddr(t)
	c := startCapture(t, source.URL("", ""), "--paused", "--control", control, "--restore-point=monday")
	app := c.connect(source)
	for _, sql := range []string{move, note} {
		if _, err := app.Prepare(t.Context(), sql, sql); err != nil {
			t.Fatal(err)
		}
	}
	work(t, app, 1, 20) // not recorded: the copies get it from the log
	before := tables(t, source)
	if st := order(t, control, "/start"); !*st.Changed {
		t.Fatal("did not start")
	}
	work(t, app, 21, 40)
	_ = app.Close(t.Context())
	c.end()
	if c.code != 0 {
		t.Fatalf("exit %d: %s", c.code, c.talk)
	}
	archived(t, source)

	at := restoreOf(t, c.file)
	if at.Point != "monday" || at.Timeline != 1 || at.SystemIdentifier != source.Psql(t, "select system_identifier from pg_control_system()") {
		t.Errorf("%+v", at)
	}
	byName.Recover(t, source.Archive(), "recovery_target_name = 'monday'")
	byLSN.Recover(t, source.Archive(), fmt.Sprintf("recovery_target_lsn = '%s'", at.LSN), "recovery_target_inclusive = off")
	for name, s := range map[string]*dbtest.Server{"LSN": byLSN, "restore point": byName} {
		promoted(t, s)
		if got := tables(t, s); got != before {
			t.Fatalf("by %s: recovered to\n%s\nnot to\n%s", name, got, before)
		}
		code, text, talk := ranWith(t.Context(), nil, "replay", c.file, "--target", s.URL("", ""), "--pace", "closed")
		if code != 0 {
			t.Errorf("by %s: exit %d\n%s%s", name, code, text, talk)
		}
		if got, want := tables(t, s), tables(t, source); got != want || want == before {
			t.Errorf("by %s: after the replay\n%s\nnot\n%s", name, got, want)
		}
	}
}

const (
	move = "update account set balance = balance + $2 where id = $1"
	note = "insert into history (id, account, delta, note) values ($2, $1, $2, $3)"
)

// work is transactions by prepared statements.
func work(t *testing.T, c *pgx.Conn, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		tx, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = tx.Exec(t.Context(), move, 1+n%7, n); err == nil {
			_, err = tx.Exec(t.Context(), note, 1+n%7, n, fmt.Sprint("note ", n))
		}
		if err == nil && n%5 == 0 {
			err = tx.Rollback(t.Context())
		} else if err == nil {
			err = tx.Commit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func tables(t *testing.T, s *dbtest.Server) string {
	t.Helper()
	return s.Psql(t, `select 'account', count(*), md5(string_agg(a::text, ',' order by id)) from account a union all
		select 'history', count(*), md5(string_agg(h::text, ',' order by id)) from history h order by 1`)
}

// archived waits until all of the log up to now is in the archive.
func archived(t *testing.T, s *dbtest.Server) {
	t.Helper()
	file := s.Psql(t, "select pg_walfile_name(pg_switch_wal())")
	for deadline := time.Now().Add(60 * time.Second); s.Psql(t, "select last_archived_wal >= '"+file+"' from pg_stat_archiver") != "t"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s was not archived:\n%s", file, s.Log())
		}
	}
}

func promoted(t *testing.T, s *dbtest.Server) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); s.Psql(t, "select pg_is_in_recovery()") != "f"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("was not promoted:\n%s", s.Log())
		}
	}
}

// restoreOf is the place that trace info tells.
func restoreOf(t *testing.T, file string) trace.Restore {
	t.Helper()
	_, text, _ := ranWith(t.Context(), nil, "trace", "info", file, "-o", "json")
	var info infoReport
	if err := json.Unmarshal([]byte(text), &info); err != nil || len(info.Restores) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	if _, text, _ = ranWith(t.Context(), nil, "trace", "info", file); !strings.Contains(text, "LSN "+info.Restores[0].LSN+" on timeline") {
		t.Errorf("info does not tell:\n%s", text)
	}
	return info.Restores[0]
}

// What cannot be had is said before anything is recorded.
func TestRestorePointRefused(t *testing.T) {
	s := dbtest.Postgres15(t)
	s.Psql(t, "create role app login")
	for name, c := range map[string]struct{ user, flag, want string }{
		"no privilege": {"app", "--restore-point=x", "grant execute on function pg_create_restore_point"},
		"no such user": {"nobody_here", "--restore-point", "nobody_here"},
	} {
		file := t.TempDir() + "/x.trace"
		for _, more := range [][]string{nil, {"--paused"}} {
			args := append([]string{"capture", "--listen", freeAddr(t), "--target", s.URL(c.user, ""), "-w", file, c.flag}, more...)
			code, _, talk := ranWith(t.Context(), nil, args...)
			if code != exitFailed || !strings.Contains(talk, c.want) || !strings.Contains(talk, "--restore-point: ") {
				t.Errorf("%s %v: exit %d: %s", name, more, code, talk)
			}
		}
		if code, _, talk := ranWith(t.Context(), nil, "trace", "info", file); code == 0 {
			t.Errorf("%s: something was written: %s", name, talk)
		}
	}
	c := startCapture(t, s.URL("app", ""), "--restore-point")
	_ = c.connect(s).Close(t.Context()) // it listens before it has asked the server
	c.end()
	if at := restoreOf(t, c.file); at.Point != "" || !strings.Contains(at.LSN, "/") || at.Standby {
		t.Errorf("without privileges: %+v", at)
	}
}
