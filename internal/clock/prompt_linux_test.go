package clock

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Only the turn changes, where the kernel knows of turns.
func TestPromptChangesTheTurnAlone(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Skip(err)
	}
	before.Runtime = 2 * turn
	if err := unix.SchedSetAttr(0, before, 0); err != nil {
		t.Skip(err)
	}
	if set, err := unix.SchedGetAttr(0, 0); err != nil || set.Runtime != before.Runtime {
		t.Skipf("this kernel knows nothing of turns: %+v, %v", set, err)
	}
	Prompt()
	after, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := *before
	want.Runtime, want.Size = turn, after.Size
	if *after != want {
		t.Errorf("%+v, want %+v", *after, want)
	}
}
