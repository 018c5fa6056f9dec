package dbtest

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the kernel's unit in /proc/PID/stat: USER_HZ, 100 everywhere on Linux.
const tick = 10 * time.Millisecond

// CPU is the user and system time a process has used.
func CPU(pid int) time.Duration {
	f := stat(pid)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * tick
}

// RSS and PeakRSS are a process's resident memory in bytes, now and at its
// highest.
func RSS(pid int) int64     { return memory(pid, "VmRSS:") }
func PeakRSS(pid int) int64 { return memory(pid, "VmHWM:") }

func memory(pid int, field string) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), field); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
