package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// A dry run says what would happen, and nothing happens: not to the data, not
// to the disk, and no session is opened but its own.
func TestReplayDryRun(t *testing.T) {
	s := dbtest.Postgres15(t, "log_connections=on")
	s.Psql(t, "create table kept as select 1 as n")
	path := selects(t, nil, 2, "insert into kept values (2)", "drop table kept", "select nosuch from kept", "select 1 from absent where n = 5", "select 'x'::nosuchtype", "select broken from")
	dir := t.TempDir()
	args := []string{
		"replay", path, "--target", "here=" + s.URL("", ""), "--target", "gone=postgres://app:hunter2@127.0.0.1:1", "--runs", "2",
		"--dry-run", "-q", "-w", filepath.Join(dir, "runs"), "--before", "touch " + filepath.Join(dir, "begun"),
	}
	code, text, talk := ranWith(t.Context(), nil, append(args, "-o", "json")...)
	var r dryReport
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, text, talk)
	}
	if code != exitFailed || strings.Contains(text+talk, "hunter2") || !strings.Contains(talk, "connection refused") || !strings.Contains(talk, "50.00 %") {
		t.Errorf("exit %d: %s", code, talk)
	}
	if r.Replays != 4 || r.Trace.Statements.Captured != 12 || r.Trace.Statements.Sent != 12 || r.Trace.PeakSessions != 2 || r.Trace.Databases["postgres"] != 2 || r.Trace.Users["app"] != 2 {
		t.Errorf("%s", text)
	}
	here, gone := r.Targets[0], r.Targets[1]
	if here.Label != "here" || *here.Slots < 10 || !strings.HasPrefix(here.Version, "15") || len(here.Problems) != 0 || here.Looked != 12 || here.Lacking != 6 {
		t.Errorf("%+v", here.Outlook)
	}
	var lacks []string
	for _, l := range here.Lacks {
		lacks = append(lacks, l.Code+" "+l.What)
	}
	want := `42703 column "nosuch" does not exist|42P01 relation "absent" does not exist|42704 type "nosuchtype" does not exist`
	if strings.Join(lacks, "|") != want {
		t.Errorf("lacks %q", lacks)
	}
	if !strings.Contains(strings.Join(here.Warnings, " "), "2 sessions were of other users (app)") {
		t.Errorf("%q", here.Warnings)
	}
	if len(gone.Problems) != 1 || gone.Slots != nil {
		t.Errorf("%+v", gone.Outlook)
	}

	code, text, talk = ranWith(t.Context(), nil, args...)
	if code != exitFailed || !strings.Contains(text, "nothing was sent") || !strings.Contains(text, "There would be 4 replays") || !strings.Contains(text, `relation "absent"`) {
		t.Errorf("exit %d: %s%s", code, text, talk)
	}
	if got, err := s.SQL(t.Context(), "postgres", "select string_agg(n::text, ',') from kept"); err != nil || strings.TrimSpace(got) != "1" {
		t.Errorf("the table holds %q, %v", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// What a replay would refuse, the dry run refuses in the same words.
func TestReplayDryRunRefuses(t *testing.T) {
	s := dbtest.Postgres15(t, "max_connections=5")
	path := selects(t, nil, 9, "select 1")
	code, text, talk := ranWith(t.Context(), nil, "replay", path, "--target", s.URL("", ""), "--dry-run", "-q")
	if code != exitFailed || !strings.Contains(talk, "9 sessions open at once") || !strings.Contains(text, "PROBLEM") {
		t.Errorf("exit %d: %s%s", code, text, talk)
	}
	code, _, talk = ranWith(t.Context(), nil, "replay", path, "--target", s.URL("", ""), "--dry-run", "-q", "-w", path)
	if code != exitFailed || !strings.Contains(talk, "exists") {
		t.Errorf("exit %d: %s", code, talk)
	}
}
