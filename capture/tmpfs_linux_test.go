package capture

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// A real file system fills up and gets room again. The file on it is a trace
// that can be read to its end, and lacks what it says it lacks.
func TestTinyDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a file system: %v", err)
	}
	defer func() { _ = unix.Unmount(dir, 0) }()
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 960<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	server := bank(t)
	path := filepath.Join(dir, "x.trace")
	file, err := trace.Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	rec := newRecording(t, func(o *RecorderOptions) { o.Out, o.Flush = file, 100*time.Millisecond })
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	go func() {
		for !rec.Recorded().Broken {
			time.Sleep(10 * time.Millisecond)
		}
		_ = os.Remove(ballast)
	}()
	b, err := dbtest.RunPgbench(t.Context(), proxy, "-n", "-M", "simple", "-c", "4", "-t", "1500")
	if err != nil || b.Failed > 0 {
		t.Fatalf("pgbench suffered: %v %+v", err, b)
	}
	stop()
	err = rec.Recorder.Close()
	rec.once.Do(func() {})
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	got := rec.Recorded()
	if !errors.Is(got.Trouble, syscall.ENOSPC) || got.Missing == 0 {
		t.Errorf("%d missing, trouble %v", got.Missing, got.Trouble)
	}
	checkFile(t, path, 7*b.Transactions+2, int64(got.Missing))
}

func checkFile(t *testing.T, path string, statements, missing int64) {
	t.Helper()
	in, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var recorded, gaps int64
	for {
		var b trace.Batch
		if err := in.Next(&b); err != nil {
			break
		}
		for _, g := range b.Gaps {
			gaps += int64(g.Last - g.First + 1)
		}
		for _, e := range b.Events {
			if e.Entry.Op.Statement() {
				recorded++
			}
		}
	}
	if !in.Complete() || len(in.Damage()) > 0 {
		t.Errorf("complete %v, damage %+v", in.Complete(), in.Damage())
	}
	if gaps != missing || recorded+gaps != statements {
		t.Errorf("%d statements and %d in gaps (reported %d) are not the %d sent", recorded, gaps, missing, statements)
	}
}
