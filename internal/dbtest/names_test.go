package dbtest

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// readPid waits for the line "pid N".
func readPid(t *testing.T, r io.Reader) int {
	t.Helper()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("no pid in the output")
	return 0
}
