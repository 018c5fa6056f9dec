//go:build !linux

package trace

import "os"

// rename moves a finished trace to its name; without force it does not replace
// a file that has appeared there since.
func rename(from, to string, force bool) error {
	if force {
		return os.Rename(from, to)
	}
	return renameChecked(from, to)
}
