package trace

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// rename moves a finished trace to its name; without force it does not replace
// a file that has appeared there since.
func rename(from, to string, force bool) error {
	if force {
		return os.Rename(from, to)
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) { // old kernels, some file systems
		return renameChecked(from, to)
	}
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("%s appeared while the trace was written", to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
