package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/retrace-db/retrace/internal/program"
)

// smallDisk mounts a disk of a size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			_ = exec.Command("umount", "-l", dir).Run()
		}
	})
	return dir
}

// A disk that fills costs the recording, never the traffic. What fitted stays
// readable, what is missing is named, and recording goes on when there is room
// again.
func TestFullDiskCostsOnlyTheRecording(t *testing.T) {
	s := bank(t)
	disk := smallDisk(t, "1m")
	ballast := filepath.Join(disk, "ballast")
	write(t, ballast, make([]byte, 960<<10))
	path := filepath.Join(disk, "t.trace")
	c := capture(t, s.URL("", ""), path)

	during := pgbench(t, c.Addr, "-n", "-S", "-M", "prepared", "-c", "8", "-T", "5")
	if during.Failed > 0 || during.Transactions < 1000 {
		t.Errorf("traffic suffered from the full disk: %+v", during)
	}
	if said := c.Said(); !strings.Contains(said, "NOT RECORDING: ") || strings.Contains(said, "recording goes on") {
		t.Errorf("the full disk was not said at once: %s", said)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	after := pgbench(t, c.Addr, "-n", "-S", "-M", "prepared", "-c", "2", "-R", "200", "-T", "4")
	if said := c.Said(); !strings.Contains(said, "recording goes on") {
		t.Errorf("that there is room again was not said at once: %s", said)
	}
	r := c.Stop()
	want(t, r, 3)
	if !strings.Contains(r.Err, "no space left") || !strings.Contains(r.Err, path) {
		t.Errorf("the full disk is not named: %s", r)
	}
	var report program.Captured
	if err := r.JSON(&report); err != nil {
		t.Fatal(err)
	}
	if len(report.Gaps) == 0 || report.Complete {
		t.Errorf("no gaps: %+v", report)
	}
	written := path
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		written += ".part"
	}
	recorded := 0
	for _, e := range events(t, written) {
		if e.op.Statement() && e.answered {
			recorded++
		}
	}
	if int64(recorded) < after.Transactions/2 || int64(recorded) >= during.Transactions+after.Transactions {
		t.Errorf("%d + %d transactions, %d in the trace", during.Transactions, after.Transactions, recorded)
	}
	run(t, 0, "trace", "verify", written)
}
