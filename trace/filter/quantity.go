package filter

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// comparison is what a quantity is held against.
type comparison struct {
	sign string
	than uint64
}

func (c comparison) holds(n uint64) bool {
	switch c.sign {
	case ">":
		return n > c.than
	case ">=":
		return n >= c.than
	case "<":
		return n < c.than
	case "<=":
		return n <= c.than
	default:
		return n == c.than
	}
}

// quantity is what a key measures, and how amounts of it are written.
type quantity struct {
	of   func(*trace.Event) uint64
	read func(string) (uint64, error)
	show func(uint64) string
}

var (
	tookTime   = &quantity{func(e *trace.Event) uint64 { return uint64(max(e.Took, 0)) }, readDuration, showDuration}
	rowCount   = &quantity{func(e *trace.Event) uint64 { return e.Rows }, readCount, showCount}
	replyBytes = &quantity{func(e *trace.Event) uint64 { return e.Bytes }, readBytes, showCount}
)

func readDuration(s string) (uint64, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil && readable(s):
		return 0, fmt.Errorf("%q needs a unit", s)
	case err != nil:
		return 0, fmt.Errorf("%q is no duration", s)
	case d < 0:
		return 0, errors.New("no duration is below zero")
	}
	return uint64(d), nil
}

func showDuration(n uint64) string { return time.Duration(n).String() }

func readable(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func readCount(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", s)
	}
	return n, nil
}

func showCount(n uint64) string { return strconv.FormatUint(n, 10) }

var byteUnits = []struct {
	name string
	size uint64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
}

func readBytes(s string) (uint64, error) {
	for _, u := range byteUnits {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := readCount(digits)
		if err != nil {
			return 0, err
		}
		if n > math.MaxUint64/u.size {
			return 0, fmt.Errorf("%q is too much", s)
		}
		return n * u.size, nil
	}
	return readCount(s)
}
