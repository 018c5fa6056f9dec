package trace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func umask(t *testing.T, mask int) {
	old := syscall.Umask(mask)
	t.Cleanup(func() { syscall.Umask(old) })
}

// A trace is for its owner's eyes only, under whatever umask, and has its final
// name only when it is whole.
func TestFileModes(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077} {
		umask(t, mask)
		path := filepath.Join(t.TempDir(), "a b ü.trace")
		f, err := Create(path, false)
		must(t, err)
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("final name while writing: %v", err)
		}
		mode(t, path+".part")
		writePlain(t, f, Header{}, WriterOptions{}, 3)
		must(t, f.Close())
		mode(t, path)
		if _, err := os.Lstat(path + ".part"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf(".part after Close: %v", err)
		}
		c, err := collect(open(t, path))
		if err != nil || !c.whole || len(c.events[1]) != 3 {
			t.Errorf("read back: %v, %v", err, c.damage)
		}
	}
}

func mode(t *testing.T, path string) {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
}

func refused(t *testing.T, path string, force bool, want string) {
	t.Helper()
	f, err := Create(path, force)
	if err == nil {
		_ = f.Abandon()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("create %s, force %v: %v, want %q", path, force, err, want)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	refused(t, dir, true, "is a directory")
	refused(t, filepath.Join(dir, "no", "x"), true, "no such file or directory")

	f, err := Create(path, false)
	must(t, err)
	refused(t, path, false, "another process is writing it")
	refused(t, path, true, "another process is writing it")
	refused(t, filepath.Join(dir, ".", "sub", "..", "x"), false, "another process is writing it")
	must(t, f.Abandon()) // as after kill -9: the lock is gone, the data is not
	refused(t, path, false, "left from a recording that was interrupted")

	f, err = Create(path, true)
	must(t, err)
	writePlain(t, f, Header{}, WriterOptions{}, 1)
	must(t, f.Close())
	refused(t, path, false, "exists")

	f, err = Create(path, true)
	must(t, err)
	old, err := os.ReadFile(path)
	if err != nil || len(old) == 0 {
		t.Errorf("the old trace is gone before the new one is whole: %v", err)
	}
	must(t, f.Close())
	if now, err := os.ReadFile(path); err != nil || len(now) != 0 {
		t.Errorf("the old trace is still there: %v, %d bytes", err, len(now))
	}
}

// A link that somebody put there is not followed.
func TestCreateFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	path := filepath.Join(dir, "x")
	must(t, os.Symlink(victim, path+".part"))
	refused(t, path, false, "not a regular file")
	refused(t, path, true, "not a regular file")
	must(t, os.Remove(path+".part"))

	must(t, os.Symlink(victim, path))
	refused(t, path, false, "exists")
	f, err := Create(path, true)
	must(t, err)
	must(t, f.Close())
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("victim holds %q, %v", b, err)
	}
}

// A file that appears at the final name while the trace is written stays.
func TestCloseReplacesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f, err := Create(path, false)
	must(t, err)
	must(t, os.WriteFile(path, []byte("mine"), 0o600))
	err = f.Close()
	if err == nil || !strings.Contains(err.Error(), "appeared") || !strings.Contains(err.Error(), path+".part") {
		t.Errorf("close: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	if _, err := os.Stat(path + ".part"); err != nil {
		t.Errorf("what was recorded is gone: %v", err)
	}
}

// A write that fails leaves no bytes, so that the file stays readable.
func TestFailedWriteIsUndone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f, err := Create(path, false)
	must(t, err)
	w, err := NewWriter(f, Header{Trace: traceID, Engine: "postgres"}, WriterOptions{})
	must(t, err)
	event := func(o uint64) error {
		id, err := w.Intern(OpQuery, 0, []byte{tokenRaw}, nil)
		must(t, err)
		b := make([]byte, 50000)
		for i := range b {
			b[i] = byte(uint64(i*i) * (o + 77) >> 3)
		}
		if err := w.Event(&Event{Session: 1, Ordinal: o, Shape: id, Sizes: []uint64{SizeOf(len(b))}, Values: b, HasReply: true}); err != nil {
			return err
		}
		return w.Flush()
	}
	must(t, event(0))
	limitFileSize(t, f.size+300) // the next block fits in part
	if err := event(1); !errors.Is(err, unix.EFBIG) {
		t.Fatalf("write over the limit: %v", err)
	}
	info, err := os.Stat(path + ".part")
	must(t, err)
	if info.Size() != f.size {
		t.Errorf("%d bytes, %d are good", info.Size(), f.size)
	}
	if lost := w.Lost(); len(lost) != 1 || lost[0].First != 1 || lost[0].Last != 1 {
		t.Errorf("lost %+v", lost)
	}
	limitFileSize(t, 1<<30)
	must(t, w.Restart())
	must(t, event(2))
	must(t, w.Close())
	must(t, f.Close())
	report, err := Verify(path)
	must(t, err)
	if !report.OK() || report.Events != 2 || report.Gaps != 1 || report.Missing != 1 {
		t.Errorf("verify: %+v", report)
	}
}

// limitFileSize stands for a full disk. The signal that comes with it is
// ignored by the Go runtime.
func limitFileSize(t *testing.T, n int64) {
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(n), Max: old.Max}))
	t.Cleanup(func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old)) })
}

// What has no content to protect is written in place.
func TestDevice(t *testing.T) {
	f, err := Create(os.DevNull, false)
	must(t, err)
	writePlain(t, f, Header{}, WriterOptions{}, 1)
	must(t, f.Close())
	if _, err := os.Stat(os.DevNull + ".part"); err == nil {
		t.Error("a file was made beside the device")
	}
	full, err := Create("/dev/full", false)
	must(t, err)
	if _, err := NewWriter(full, Header{}, WriterOptions{}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("write to a full device: %v", err)
	}
}
