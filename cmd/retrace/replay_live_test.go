package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/replay"
	"github.com/retrace-db/retrace/trace"
)

// selects writes a trace of sessions that run simple queries every millisecond.
func selects(t *testing.T, source *trace.Source, sessions int, queries ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "selects.trace")
	f, err := trace.Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	started := time.Unix(0, scriptEpoch).UTC().Format(time.RFC3339Nano)
	w, err := trace.NewWriter(f, trace.Header{Engine: "postgres", MadeBy: trace.ByCapture, Started: started, Source: source}, trace.WriterOptions{})
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	check(err)
	var split pg.Splitter
	event := func(session, ordinal uint64, op trace.Op, message []byte) {
		shape, sizes, values := split.Split(message)
		if len(message) == 0 {
			shape, sizes, values = nil, nil, nil
		}
		id, err := w.Intern(op, 0, shape, func() (string, []uint32) { return pg.Describe(message) })
		check(err)
		check(w.Event(&trace.Event{
			Session: session, Ordinal: ordinal, Start: scriptEpoch + int64(ordinal)*1e6, Shape: id, Sizes: sizes, Values: values,
			RequestEnd: true, HasReply: true, Reply: trace.Reply{Took: 100_000, Rows: uint64(op-trace.OpConnect) / uint64(trace.OpQuery-trace.OpConnect), State: 'I'},
		}))
	}
	for s := range uint64(sessions) {
		check(w.State(&trace.State{Session: s + 1, Start: scriptEpoch, Database: "postgres", User: "app", Transaction: "idle"}))
		event(s+1, 0, trace.OpConnect, nil)
		for n, sql := range queries {
			m := append([]byte{'Q', 0, 0, 0, byte(5 + len(sql))}, sql...)
			event(s+1, uint64(n+1), trace.OpQuery, append(m, 0))
		}
		event(s+1, uint64(len(queries)+1), trace.OpEnd, []byte{'X', 0, 0, 0, 4})
	}
	check(w.Close())
	check(f.Close())
	return path
}

func TestReplay(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, nil, 3, "select 1", "select 2", "select 3")
	out := filepath.Join(t.TempDir(), "r.run")
	code, text, talk := ranWith(t.Context(), nil, "replay", path, "--target", s.URL("", ""), "-w", out, "--label", "candidate")
	if code != 0 || !strings.Contains(text, "Diverged from the recording: 0 of 9 statements") || strings.Contains(talk, "retrace:") {
		t.Errorf("exit %d\n%s%s", code, text, talk)
	}
	info, err := trace.Info(out)
	if err != nil || info.Statements != 9 || !info.Complete || info.Headers[0].Run == nil || info.Headers[0].Run.Label != "candidate" {
		t.Errorf("the run: %+v, %v", info, err)
	}
	if mode, err := os.Stat(out); err != nil || mode.Mode().Perm() != 0o600 {
		t.Errorf("the run's mode: %v, %v", mode, err)
	}

	code, text, _ = ranWith(t.Context(), nil, "replay", path, "--target", s.URL("", ""), "-o", "json", "--pace", "closed")
	var sum replay.Summary
	if err := json.Unmarshal([]byte(text), &sum); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, text)
	}
	if sum.Schema != 1 || sum.Statements != (replay.Tally{Captured: 9, OK: 9}) || sum.Pace != "closed" || sum.Speed != nil || sum.LagUS != nil {
		t.Errorf("%s", text)
	}
}

// A pipe in, a pipe out.
func TestReplayOfAPipe(t *testing.T) {
	s := dbtest.Postgres15(t)
	in, err := os.ReadFile(selects(t, nil, 2, "select 1"))
	if err != nil {
		t.Fatal(err)
	}
	code, out, talk := ranWith(t.Context(), bytes.NewReader(in), "replay", "-", "--target", s.URL("", ""), "-w", "-", "-q")
	if code != 0 || talk != "replay: 2 sessions were of other users (app): all log in as postgres (--user-map RECORDED=USER)\n" {
		t.Errorf("exit %d: %s", code, talk)
	}
	r := trace.NewReader(strings.NewReader(out), "run")
	n := 0
	if err := r.Each(func(e *trace.Event) error { n++; return nil }); err != nil || n != 6 || !r.Header().IsRun() {
		t.Errorf("%d events, %v", n, err)
	}
}

// The fault injection: an event the player forgets must not end in 0.
func TestReplayThatForgetsAnEvent(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, nil, 3, "select 1", "select 2")
	replayFault = func(session, ordinal uint64) bool { return session == 2 && ordinal == 1 }
	defer func() { replayFault = nil }()
	code, text, talk := ranWith(t.Context(), nil, "replay", path, "--target", s.URL("", ""), "-o", "json")
	var sum replay.Summary
	if err := json.Unmarshal([]byte(text), &sum); err != nil {
		t.Fatal(err)
	}
	if code != exitDiffers || sum.Accounted || sum.Valid || !strings.Contains(talk, "accounting") {
		t.Errorf("exit %d, accounted %v, valid %v: %s", code, sum.Accounted, sum.Valid, talk)
	}
}

func TestReplayThatDiverges(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, nil, 1, "select 1", "select 2", "select 3 where false")
	code, text, talk := ranWith(t.Context(), nil, "replay", path, "--target", s.URL("", ""), "-q")
	if !strings.Contains(text, "1 × select 0 where false\n      first 1:3: 1 row recorded, 0 rows replayed") || !strings.Contains(text, "--where session:1 "+path) {
		t.Errorf("%s", text)
	}
	if code != exitDiffers || !strings.Contains(talk, "33.33 %") || !strings.Contains(talk, "--max-diverged") {
		t.Errorf("exit %d: %s", code, talk)
	}
	if code, _, talk = ranWith(t.Context(), nil, "replay", path, "--target", s.URL("", ""), "-q", "--max-diverged", "40%"); code != 0 {
		t.Errorf("exit %d: %s", code, talk)
	}
}

func TestReplayAgainstWhatWasRecorded(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, &trace.Source{Addresses: []string{s.Addr}}, 1, "select 1")
	url := s.URL("", "")
	for _, to := range []string{url, strings.Replace(url, "127.0.0.1", "localhost", 1)} {
		code, _, talk := ranWith(t.Context(), nil, "replay", path, "--target", to)
		if code != exitUsage || !strings.Contains(talk, "Try: ") || !strings.Contains(talk, "--allow-captured-target") {
			t.Errorf("%s: exit %d: %s", to, code, talk)
		}
	}
	if code, _, talk := ranWith(t.Context(), nil, "replay", path, "--target", url, "--allow-captured-target", "-q"); code != 0 {
		t.Errorf("exit %d: %s", code, talk)
	}
}

func TestReplayThatIsInterrupted(t *testing.T) {
	s := dbtest.Postgres15(t)
	path := selects(t, nil, 1, "select 1", "select pg_sleep(3)", "select 2")
	out := filepath.Join(t.TempDir(), "r.run")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	time.AfterFunc(time.Second, func() { cancel(errSIGTERM) })
	code, text, talk := ranWith(ctx, nil, "replay", path, "--target", s.URL("", ""), "-w", out, "-o", "json")
	var sum replay.Summary
	if err := json.Unmarshal([]byte(text), &sum); err != nil {
		t.Fatal(err)
	}
	if code != exitSIGTERM || !sum.Partial || !sum.Accounted || sum.Statements.OK != 2 || sum.Reasons["interrupted"] != 1 {
		t.Errorf("exit %d: %+v %s", code, sum, talk)
	}
	if info, err := trace.Info(out); err != nil || !info.Complete || info.Events != 5 {
		t.Errorf("the run: %+v, %v", info, err)
	}
}
