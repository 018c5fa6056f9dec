//go:build unix

package trace

import (
	"os"

	"golang.org/x/sys/unix"
)

// openNew creates a file that only its owner may read, and follows no link
// somebody may have put there.
func openNew(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
}

func openOld(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// lock fails if another process, or another File, holds the lock. The system
// drops it when the process ends, however that ends.
func lock(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
