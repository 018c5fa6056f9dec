package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// Each run has its file, its name and its summary; the data are brought back in
// between; the directory of runs is a comparison.
func TestReplaySeries(t *testing.T) {
	s := dbtest.Postgres15(t)
	s.Psql(t, "create table counted(n int)")
	s.Psql(t, "create database other")
	if _, err := s.SQL(t.Context(), "other", "create table counted(n int)"); err != nil {
		t.Fatal(err)
	}
	path := selects(t, nil, 1, "insert into counted values (1)", "select 1 from counted where (select count(*) from counted) = 1")
	dir := filepath.Join(t.TempDir(), "runs")
	psql := "psql -q -X -d \"$RETRACE_TARGET\" -c 'truncate counted'"
	args := []string{
		"replay", path, "--target", "old=" + s.URL("", "postgres"), "--target", "new=" + s.URL("", "other"),
		"--runs", "2", "--before", psql, "-w", dir, "-q",
	}
	code, text, talk := ranWith(t.Context(), nil, append(args, "-o", "json")...)
	var report seriesReport
	if err := json.Unmarshal([]byte(text), &report); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s%s", code, err, text, talk)
	}
	var names []string
	for _, e := range report.Replays {
		names = append(names, filepath.Base(*e.File))
		if e.Summary.Diverged != 0 || e.Summary.Statements.OK != 2 || e.Exit != 0 {
			t.Errorf("%+v", e)
		}
	}
	if got, want := strings.Join(names, " "), "old-1.run new-1.run new-2.run old-2.run"; got != want || report.Planned != 4 {
		t.Errorf("replayed %s, want %s", got, want)
	}
	info, err := trace.Info(filepath.Join(dir, "new-2.run"))
	if err != nil || info.Headers[0].Run.Label != "new" || info.Headers[0].Run.Number != 2 {
		t.Errorf("%+v %v", info, err)
	}

	code, text, talk = ranWith(t.Context(), nil, append(args, "--force")...)
	if code != 0 || !strings.Contains(text, "4 of 4 replays made") || !strings.Contains(text, "old-2.run "+dir+"/new-1.run") {
		t.Errorf("exit %d: %s%s", code, text, talk)
	}
	code, text, talk = ranWith(t.Context(), nil, "analyze", "-q", "-o", "json", dir)
	var compared struct {
		Runs []struct{ Label string }
	}
	if err := json.Unmarshal([]byte(text), &compared); err != nil || code != 0 || len(compared.Runs) != 4 {
		t.Fatalf("exit %d, %v: %s%s", code, err, text, talk)
	}
	if compared.Runs[0].Label != "old-1" || compared.Runs[1].Label != "new-1" {
		t.Errorf("%+v", compared.Runs)
	}
}

// One target that cannot be had costs the other nothing but the exit code.
func TestReplaySeriesWithOneTargetGone(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, nil, 1, "select 1")
	dir := t.TempDir()
	code, text, talk := ranWith(t.Context(), nil, "replay", path, "-w", dir, "-q",
		"--target", "gone="+s.URL("", "nosuch"), "--target", "here="+s.URL("", ""))
	if code != exitFailed || !strings.Contains(talk, "gone-1: ") || !strings.Contains(text, "1 of 2 replays made") {
		t.Errorf("exit %d: %s%s", code, text, talk)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != "here-1.run" {
		t.Errorf("%v %v", entries, err)
	}
}

// The recorded server is refused before the other target's turn.
func TestReplaySeriesAgainstWhatWasRecorded(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, &trace.Source{Addresses: []string{"127.0.0.1:1"}}, 1, "select 1")
	dir := filepath.Join(t.TempDir(), "begun")
	code, text, talk := ranWith(t.Context(), nil, "replay", path, "--target", "a="+s.URL("", ""), "--target", "b=postgres://127.0.0.1:1",
		"--before", "touch "+dir, "-q")
	if _, err := os.Stat(dir); code != exitUsage || err == nil || !strings.Contains(talk, "--allow-captured-target") {
		t.Errorf("exit %d, %v: %s%s", code, err, text, talk)
	}
}

// A signal ends the replay that runs, in good order, and begins no other.
func TestReplaySeriesThatIsInterrupted(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, nil, 1, "select 1", "select 1 from pg_sleep(2)", "select 2")
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	time.AfterFunc(time.Second, func() { cancel(errSIGTERM) })
	code, text, talk := ranWith(ctx, nil, "replay", path, "--target", s.URL("", ""), "--runs", "3", "-w", dir, "-o", "json", "-q")
	var report seriesReport
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	if code != exitSIGTERM || report.Planned != 3 || len(report.Replays) != 1 || !report.Replays[0].Summary.Partial {
		t.Errorf("exit %d: %s%s", code, text, talk)
	}
	if info, err := trace.Info(filepath.Join(dir, "run-1.run")); err != nil || !info.Complete || info.Events != 5 {
		t.Errorf("the run: %+v, %v", info, err)
	}
}
