package main

import (
	"strings"
	"time"
)

// moment is a time of a trace as one writes it: since its start, such as 10m or
// 1h30m, or RFC 3339.
type moment string

// at is the moment in ns since the Unix epoch; 0 if none was given.
func (m moment) at(start int64) int64 {
	if m == "" {
		return 0
	}
	if t, err := time.Parse(time.RFC3339Nano, string(m)); err == nil {
		return t.UnixNano()
	}
	d, _ := time.ParseDuration(string(m)) // check has seen it
	return start + int64(d)
}

// check refuses what is neither.
func (m moment) check(flag, try string) error {
	if m == "" {
		return nil
	}
	if _, err := time.Parse(time.RFC3339Nano, string(m)); err == nil {
		return nil
	}
	d, err := time.ParseDuration(string(m))
	switch {
	case err != nil && strings.Contains(string(m), "T"):
		return usageError(try, "%s %q is no time such as 2026-05-04T14:00:00Z", flag, string(m))
	case err != nil:
		return usageError(try, "%s %q is neither a time since the start, such as 10m, nor one such as 2026-05-04T14:00:00Z", flag, string(m))
	case d < 0:
		return usageError(try, "%s %s is before the start", flag, string(m))
	}
	return nil
}
