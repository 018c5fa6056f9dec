package capture

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// bank is a server with pgbench's tables.
func bank(t *testing.T) *dbtest.Server {
	server := dbtest.Postgres15(t)
	server.Pgbench(t, "-i", "-q", "-s", "1")
	return server
}

// audit checks a recording of pgbench against what pgbench says it did: each
// event is recorded or named in a gap, and no transaction is begun without end.
func audit(t *testing.T, events map[uint64][]trace.Event, gaps []trace.Gap, statements int64) {
	t.Helper()
	missing := map[uint64][]trace.Gap{}
	for _, g := range gaps {
		missing[g.Session] = append(missing[g.Session], g)
	}
	var recorded, lost int64
	for id, session := range events {
		recorded += recordedIn(session)
		lost += account(t, id, session, missing[id])
		delete(missing, id)
	}
	if len(missing) > 0 {
		t.Errorf("gaps of sessions that are not in the trace: %v", missing)
	}
	if recorded+lost != statements {
		t.Errorf("%d statements recorded and %d in gaps are not the %d sent", recorded, lost, statements)
	}
	t.Logf("%d statements recorded, %d in %d gaps", recorded, lost, len(gaps))
}

// recordedIn counts pgbench's own statements.
func recordedIn(session []trace.Event) (n int64) {
	for _, e := range session {
		if e.Entry.Op.Statement() {
			n++
		}
	}
	return n
}

// account checks one session and returns how many of its events are in gaps.
func account(t *testing.T, id uint64, session []trace.Event, gaps []trace.Gap) (lost int64) {
	t.Helper()
	slices.SortFunc(gaps, func(a, b trace.Gap) int { return int(int64(a.First - b.First)) })
	next, state := uint64(0), byte('I')
	for _, e := range session {
		for len(gaps) > 0 && gaps[0].First == next {
			lost += int64(gaps[0].Last - gaps[0].First + 1)
			next = gaps[0].Last + 1
			gaps = gaps[1:]
			if state != 'I' && (e.State != 'I' || strings.HasPrefix(strings.ToUpper(e.Entry.SQL()), "BEGIN")) {
				t.Errorf("session %x: event %d follows a gap in an open transaction", id, e.Ordinal)
			}
		}
		if e.Ordinal != next {
			t.Fatalf("session %x: event %d stands where %d should; gaps left %v", id, e.Ordinal, next, gaps)
		}
		if !e.HasReply {
			t.Errorf("session %x: event %d has no reply", id, e.Ordinal)
		}
		next, state = e.Ordinal+1, e.State
	}
	if len(gaps) > 0 || state != 'I' {
		t.Errorf("session %x ends in state %q with gaps %v after its end", id, state, gaps)
	}
	return lost
}

// When the disk is slow the traffic is not, and what is missing is named.
func TestSlowDisk(t *testing.T) {
	server := bank(t)
	for _, mode := range []string{"simple", "extended"} {
		t.Run(mode, func(t *testing.T) {
			rec := newRecording(t, func(o *RecorderOptions) { o.QueueBytes = 192 << 10 })
			var slow atomic.Bool
			rec.out.wait = func() {
				if slow.Load() {
					time.Sleep(700 * time.Millisecond)
				}
			}
			proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
			slow.Store(true)
			time.AfterFunc(3*time.Second, func() { slow.Store(false) })
			b, err := dbtest.RunPgbench(t.Context(), proxy, "-n", "-M", mode, "-c", "6", "-T", "5")
			if err != nil || b.Failed > 0 {
				t.Fatalf("pgbench suffered: %v %+v", err, b)
			}
			stop()
			events, gaps := rec.events()
			const preliminary = 2 // statements that pgbench asks first, on a session of its own
			audit(t, events, gaps, 7*b.Transactions+preliminary)
			if len(gaps) == 0 {
				t.Error("nothing was dropped: the test shows nothing")
			}
			if got := rec.Recorded(); got.Totals.Gaps != uint64(len(gaps)) || got.Trouble != nil {
				t.Errorf("reported %d gaps, %v; the trace has %d", got.Totals.Gaps, got.Trouble, len(gaps))
			}
		})
	}
}

// A full disk costs what was written meanwhile, and nothing else.
func TestFullDisk(t *testing.T) {
	server := bank(t)
	rec := newRecording(t)
	var full atomic.Bool
	rec.out.fail = func() error {
		if full.Load() {
			return &diskError{}
		}
		return nil
	}
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	time.AfterFunc(1500*time.Millisecond, func() { full.Store(true) })
	time.AfterFunc(3500*time.Millisecond, func() { full.Store(false) })
	b, err := dbtest.RunPgbench(t.Context(), proxy, "-n", "-M", "simple", "-c", "6", "-T", "6")
	if err != nil || b.Failed > 0 {
		t.Fatalf("pgbench suffered: %v %+v", err, b)
	}
	stop()
	events, gaps := rec.events()
	var recorded, lost int64
	for _, session := range events {
		recorded += recordedIn(session)
	}
	for _, g := range gaps {
		lost += int64(g.Last - g.First + 1)
	}
	t.Logf("%d statements recorded, %d in %d gaps", recorded, lost, len(gaps))
	if want := 7*b.Transactions + 2; recorded+lost != want {
		t.Errorf("%d statements recorded and %d in gaps are not the %d sent", recorded, lost, want)
	}
	got := rec.Recorded()
	if lost == 0 || got.Trouble == nil || !errors.Is(got.Trouble, syscall.ENOSPC) || got.Broken || got.Missing != uint64(lost) {
		t.Errorf("%d lost; reported %d missing, broken %v, trouble %v", lost, got.Missing, got.Broken, got.Trouble)
	}
}

type diskError struct{}

func (*diskError) Error() string { return "write x: no space left on device" }
func (*diskError) Unwrap() error { return syscall.ENOSPC }

// A disk that stays full: the traffic goes on, and the recorder says so at the end.
func TestDiskStaysFull(t *testing.T) {
	server := bank(t)
	rec := newRecording(t)
	var full atomic.Bool
	rec.out.fail = func() error {
		if full.Load() {
			return &diskError{}
		}
		return nil
	}
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	time.AfterFunc(time.Second, func() { full.Store(true) })
	b, err := dbtest.RunPgbench(t.Context(), proxy, "-n", "-S", "-M", "prepared", "-c", "6", "-T", "3")
	if err != nil || b.Failed > 0 {
		t.Fatalf("pgbench suffered: %v %+v", err, b)
	}
	stop()
	err = rec.Close()
	rec.once.Do(func() {})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("closing says %v", err)
	}
	if got := rec.Recorded(); got.Missing == 0 || !got.Broken {
		t.Errorf("%+v", got)
	}
}
