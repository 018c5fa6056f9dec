package clock

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Only the turn changes, where the kernel knows of turns.
func TestPromptChangesNothingElse(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Skip(err)
	}
	Prompt()
	after, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if after.Runtime != turn && after.Runtime != before.Runtime {
		t.Errorf("a turn is %d ns", after.Runtime)
	}
	after.Runtime = before.Runtime
	if *after != *before {
		t.Errorf("%+v became %+v", before, after)
	}
}
