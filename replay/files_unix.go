//go:build unix

package replay

import (
	"os"

	"golang.org/x/sys/unix"
)

// sparedFiles are for the trace, the run, the spill file, the poller, cancel
// requests and what the runtime wants.
const sparedFiles = 64

// openFiles is how many more files this process may open. The runtime has
// raised the soft limit to the hard one already.
func openFiles() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, os.NewSyscallError("getrlimit", err)
	}
	return max(int(min(limit.Cur, 1<<30))-sparedFiles, 0), nil
}
