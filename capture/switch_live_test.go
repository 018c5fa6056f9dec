package capture

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// RP-07: recording is switched on and off while a session is in a transaction.
// What is recorded begins with all that the session has prepared, and holds
// whole transactions.
func TestRecordingFromTheMiddle(t *testing.T) {
	server := dbtest.Postgres15(t)
	rec := newRecording(t, func(o *RecorderOptions) { o.Paused = true })
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	c := login(t, proxy)
	for i := range 5 {
		c.send(msgs(parse(fmt.Sprint("s", i), fmt.Sprintf("select $1::int + %d", i)), syncMsg))
		c.wait("Z")
	}
	run := func(i int) {
		t.Helper()
		c.send(msgs(bind("", fmt.Sprint("s", i), "1"), execute(""), syncMsg))
		c.wait("2DCZ")
	}
	c.ask("set search_path = pg_catalog")
	c.send(msgs(parse("", "select 'unnamed'"), syncMsg))
	c.wait("Z")
	bystander := login(t, proxy)
	bystander.ask("select 'never recorded'")
	bystander.send(msgs(terminate))
	bystander.wait("$")
	c.send(msgs(parse("", "begin"), bind("", ""), execute(""), syncMsg))
	c.wait("Z")
	c.send(msgs(parse("", "select 'unnamed'"), syncMsg))
	c.wait("Z")
	if !rec.Start(nil) || rec.Start(nil) {
		t.Fatal("start twice")
	}
	run(0) // in a transaction that began before
	c.send(msgs(parse("", "select 'unnamed'"), syncMsg))
	c.wait("Z")
	c.send(msgs(parse("", "commit"), bind("", ""), execute(""), syncMsg))
	c.wait("Z")
	c.send(msgs(parse("", "select 'unnamed'"), syncMsg)) // the first that is recorded
	c.wait("Z")
	run(3)
	c.send(msgs(bind("", ""), execute(""), syncMsg))
	c.wait("Z")
	c.ask("begin")
	run(1)
	if !rec.Stop() || rec.Stop() {
		t.Fatal("stop twice")
	}
	run(2)
	c.ask("commit")
	run(4) // no more
	c.send(msgs(parse("late", "select 'late'"), closing('S', "s0"), syncMsg))
	c.wait("Z")
	rec.Start(nil)
	c.send(msgs(bind("", "late"), execute(""), syncMsg))
	c.wait("Z")
	c.send(msgs(terminate))
	c.wait("$")
	stop()
	events, gaps := rec.events()
	if len(events) != 1 {
		t.Fatalf("%d sessions", len(events))
	}
	var texts []string
	for _, s := range events {
		for _, e := range s {
			texts = append(texts, fmt.Sprintf("%c %s", e.Entry.Op, e.Entry.SQL()))
		}
	}
	want := []string{
		"p select ''", "x select $1::int + 0", "x select ''", "q begin", "x select $1::int + 0", "x select $1::int + 0", "q commit",
		"x select ''", "e ",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("recorded\n%q\nwant\n%q", texts, want)
	}
	checkLeftOut(t, gaps, rec.Recorded())
	checkStates(t, rec)
	if v := verified(t, t, rec.out.b.Bytes()); len(v.Headers) != 2 || v.Headers[1].PausedFrom == "" || v.Headers[0].PausedFrom != "" {
		t.Errorf("%d segments: %+v", len(v.Headers), v.Headers)
	}
}

func checkLeftOut(t *testing.T, gaps []trace.Gap, r Recorded) {
	t.Helper()
	if r.Missing != 0 || r.Totals.Gaps != 0 || len(r.Gaps) != 0 {
		t.Errorf("counted as lost: %+v", r)
	}
	if len(r.LeftOut) != 1 || r.LeftOut[0].Why != whyOff || r.LeftOut[0].Sessions != 1 {
		t.Errorf("left out: %+v", r.LeftOut)
	}
	// Named: an execution, a Parse, a Close. Session 0 counts what was before and beside.
	if len(gaps) != 2 || gaps[0].Events() != 3 || gaps[1].Session != 0 {
		t.Errorf("gaps %+v", gaps)
	}
}

// checkStates looks at what the session has where its recording begins.
func checkStates(t *testing.T, rec *recording) {
	t.Helper()
	var all []string
	each(t, rec, func(s *trace.State) {
		line := s.Transaction + ":"
		for _, p := range s.Statements {
			line += " " + string(p.Name)
		}
		all = append(all, line)
	})
	want := []string{"idle: s0 s1 s2 s3 s4 ", "idle: s1 s2 s3 s4 late"}
	if !slices.Equal(all, want) {
		t.Errorf("states\n%q\nwant\n%q", all, want)
	}
}

// Switched on and off all the time under load, a recording holds whole
// transactions, and nothing counts as lost.
func TestSwitchingUnderLoad(t *testing.T) {
	server := bank(t)
	rec := newRecording(t)
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	over, switched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(switched)
		for {
			select {
			case <-over:
				return
			case <-time.After(100 * time.Millisecond):
			}
			if !rec.Stop() {
				rec.Start(nil)
			}
		}
	}()
	bench, err := dbtest.RunPgbench(t.Context(), proxy, "-n", "-c", "8", "-T", "3")
	close(over)
	<-switched
	stop()
	if err != nil || bench.Failed > 0 {
		t.Fatalf("%+v %v", bench, err)
	}
	events, _ := rec.events()
	v := verified(t, t, rec.out.b.Bytes())
	r := rec.Recorded()
	if r.Totals.Gaps != 0 || r.Faults != 0 || v.LeftOut == 0 || v.LeftOut != r.Totals.LeftOut || v.Statements == 0 || len(v.Headers) < 3 {
		t.Errorf("%+v\n%+v", r, v)
	}
	for id, session := range events {
		whole(t, id, session)
	}
	t.Logf("%d transactions; %d statements recorded, %d events left out, %d segments", bench.Transactions, v.Statements, v.LeftOut, len(v.Headers))
}

// whole checks that a session's events stop and go on outside of transactions.
func whole(t *testing.T, id uint64, session []trace.Event) {
	t.Helper()
	state := byte('I')
	for i, e := range session {
		jump := i > 0 && e.Ordinal != session[i-1].Ordinal+1
		begins := strings.HasPrefix(strings.ToUpper(e.Entry.SQL()), "BEGIN") || !e.Entry.Op.Statement()
		if jump && (state != 'I' || !begins && e.State != 'I') {
			t.Errorf("session %x: event %d, %s, follows a pause in state %c", id, e.Ordinal, e.Entry.SQL(), state)
		}
		if !e.HasReply {
			t.Errorf("session %x: event %d has no reply", id, e.Ordinal)
		}
		state = e.State
	}
	if state != 'I' {
		t.Errorf("session %x ends in state %c", id, state)
	}
}
