//go:build !linux

package clock

// Prompt does nothing here.
func Prompt() {}
