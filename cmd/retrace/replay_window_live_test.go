package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/replay"
	"github.com/retrace-db/retrace/trace"
)

// A part from the middle: what its sessions had set before holds, what was sent
// before and after is not sent, and the accounting is of the part.
func TestReplayOfAPart(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, nil, 2, "set work_mem to '7MB'", "select 1 where current_setting('work_mem') = '7MB'", "select 2")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := func(ms int64) string { return time.Unix(0, scriptEpoch+ms*1e6).UTC().Format(time.RFC3339Nano) }
	for _, c := range []struct {
		name, trace, from, to string
		more                  []string
		want                  uint64
	}{
		{"file", path, at(2), at(3), nil, 2},
		{"pipe", "-", at(2), at(3), nil, 2},
		{"open end", path, at(2), "", nil, 4},
		{"think", path, at(2), at(3), []string{"--pace", "think"}, 2},
		{"closed", path, at(2), at(3), []string{"--pace", "closed"}, 2},
		{"rate", path, at(2), at(3), []string{"--pace", "rate=100/s"}, 2},
		{"three times", path, at(2), at(3), []string{"--loop", "3"}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"replay", c.trace, "--target", s.URL("", ""), "-o", "json", "--from", c.from}, c.more...)
			if c.to != "" {
				args = append(args, "--to", c.to)
			}
			code, text, talk := ranWith(t.Context(), bytes.NewReader(whole), args...)
			var sum replay.Summary
			if err := json.Unmarshal([]byte(text), &sum); err != nil {
				t.Fatalf("exit %d, %v: %s", code, err, talk)
			}
			if code != 0 || sum.Statements != (replay.Tally{Captured: c.want, OK: c.want}) || sum.Diverged != 0 {
				t.Errorf("exit %d: %+v, %d diverged: %s", code, sum.Statements, sum.Diverged, talk)
			}
		})
	}
	code, _, talk := ranWith(t.Context(), nil, "replay", path, "--target", s.URL("", ""), "--from", "10h")
	if code != exitFailed {
		t.Errorf("nothing to replay: exit %d: %s", code, talk)
	}
}

// A run of several loops is a sound trace that the other verbs read.
func TestReplayInALoop(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, nil, 2, "select 1", "select 2")
	run := filepath.Join(t.TempDir(), "loops.run")
	code, text, talk := ranWith(t.Context(), nil, "replay", path, "--target", s.URL("", ""), "-w", run, "--loop", "3")
	if code != 0 || !strings.Contains(text, "\nloop 3: ") || strings.Contains(text, "loop 4") {
		t.Errorf("exit %d: %s%s", code, text, talk)
	}
	if code, text, talk := ranWith(t.Context(), nil, "trace", "verify", run); code != 0 {
		t.Errorf("verify: exit %d: %s%s", code, text, talk)
	}
	info, err := trace.Info(run)
	if err != nil || info.Statements != 12 || info.Sessions != 6 {
		t.Errorf("%+v, %v", info, err)
	}
	if code, text, talk := ranWith(t.Context(), nil, "analyze", "a="+run, "b="+run); code != 0 || !strings.Contains(text, "12") {
		t.Errorf("analyze: exit %d: %s%s", code, text, talk)
	}
}
