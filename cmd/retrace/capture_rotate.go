package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// rotateFlag is a size, a time, or both: 1GiB, 1h, 1GiB,1h.
type rotateFlag struct {
	bytes int64
	every time.Duration
}

func (f *rotateFlag) set() bool { return f.bytes > 0 || f.every > 0 }

// UnmarshalText reads the flag.
func (f *rotateFlag) UnmarshalText(b []byte) error {
	for part := range strings.SplitSeq(string(b), ",") {
		size, isSize := sizeOf(part)
		every, err := time.ParseDuration(part)
		switch {
		case isSize && size > 0 && f.bytes == 0:
			f.bytes = size
		case err == nil && every > 0 && f.every == 0:
			f.every = every
		default:
			return fmt.Errorf("%q is not a size such as 1GiB, a time such as 1h, or one of each: 1GiB,1h", string(b))
		}
	}
	return nil
}

var sizeUnits = []struct {
	unit string
	n    int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}

// sizeOf reads a whole number of units.
func sizeOf(s string) (int64, bool) {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(s, u.unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 32)
		return n * u.n, err == nil
	}
	return 0, false
}
