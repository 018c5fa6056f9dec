package trace

import (
	"fmt"
	"os"
	"testing"
)

// TestColumnSizes prints what each column of a trace costs. It is for whoever
// tunes the layout: RETRACE_TRACE=FILE go test -v -run ColumnSizes ./trace
func TestColumnSizes(t *testing.T) {
	path := os.Getenv("RETRACE_TRACE")
	if path == "" {
		t.Skip("RETRACE_TRACE names no trace")
	}
	b, err := os.ReadFile(path)
	must(t, err)
	s, err := Info(path)
	must(t, err)
	sizes, blocks, kinds := map[string]int{}, map[byte]int{}, map[byte]int{}
	for at := 0; at+headerSize <= len(b); {
		h, err := parseHeader(b[at:])
		must(t, err)
		body := b[at+headerSize:][:h.stored]
		blocks[h.kind]++
		kinds[h.kind] += headerSize + int(h.stored)
		var dir directory
		if h.kind == kindEvents && dir.parse(body, int(h.columns)) == nil {
			sizes["headers and directories"] += headerSize + int(h.columns)*directoryEntry
			for id, c := range dir.cols {
				if dir.has(byte(id)) {
					sizes[fmt.Sprintf("%02d", id)] += len(c.stored)
				}
			}
		}
		at += headerSize + int(h.stored)
	}
	t.Logf("%d statements, %d events, %.3f bytes per statement", s.Statements, s.Events, s.BytesPerStatement())
	for k, n := range kinds {
		t.Logf("blocks %c: %d, %.3f bytes per statement", k, blocks[k], float64(n)/float64(s.Statements))
	}
	for k, n := range sizes {
		t.Logf("event column %s: %.3f", k, float64(n)/float64(s.Statements))
	}
}
