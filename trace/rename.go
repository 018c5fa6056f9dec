package trace

import (
	"fmt"
	"os"
)

// renameChecked is as good as it gets where the system cannot refuse.
func renameChecked(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s appeared while the trace was written", to)
	}
	return os.Rename(from, to)
}
