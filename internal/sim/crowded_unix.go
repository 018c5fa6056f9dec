//go:build unix

package sim

import (
	"errors"
	"syscall"
)

// isCrowded tells whether a connection could not be taken for want of
// descriptors, which others will give back.
func isCrowded(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
