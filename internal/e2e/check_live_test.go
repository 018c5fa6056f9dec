package e2e

import (
	"path/filepath"
	"testing"

	"github.com/retrace-db/retrace/internal/program"
)

// Checksums recorded by capture find the statements that read other data on the
// target: all that read a changed row, and no other.
func TestCheckFindsOtherData(t *testing.T) {
	source := bank(t)
	target := source.Clone(t)
	dir := t.TempDir()
	recorded := filepath.Join(dir, "recorded.trace")
	c := capture(t, source.URL("", ""), recorded, "--check")
	pgbench(t, c.Addr, "-n", "-S", "-M", "prepared", "-c", "2", "-t", "50")
	stop(t, c)
	same := replay(t, recorded, target.URL("", ""), filepath.Join(dir, "same.run"), "--check")
	if same.Diverged != 0 || same.Checked < 100 || same.Checked != same.Statements.OK {
		t.Errorf("the same data: %d of %d diverged", same.Diverged, same.Checked)
	}
	target.Psql(t, "update pgbench_accounts set abalance = 7")
	var other program.Replayed
	read(t, &other, 3, "replay", recorded, "--target", target.URL("", ""), "--check")
	if other.Diverged != 100 || other.DivergedResult != 100 {
		t.Errorf("every account changed: %+v", other)
	}
}
