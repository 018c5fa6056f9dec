package e2e

import (
	"strings"
	"testing"

	"github.com/retrace-db/retrace/trace"
)

// event is a copy of what the tests look at.
type event struct {
	session  uint64
	op       trace.Op
	sql      string
	shape    string
	values   string // contents of all holes, end to end
	answered bool
	status   trace.Status
	rows     uint64
	start    int64
	end      int64
	due      int64
	took     int64
}

// events reads a trace whole, torn ones as far as they go.
func events(t *testing.T, path string) []event {
	t.Helper()
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []event
	err = r.Each(func(e *trace.Event) error {
		all = append(all, event{
			session: e.Session, op: e.Entry.Op, sql: strings.Clone(e.Entry.SQL()), shape: string(e.Entry.Shape), values: string(e.Values),
			answered: e.HasReply, status: e.Status, rows: e.Rows, start: e.Start, end: e.End(), due: e.Due, took: e.Took,
		})
		return nil
	})
	if err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
	return all
}

// statements groups the statements of a trace by session.
func statements(all []event) map[uint64][]event {
	by := map[uint64][]event{}
	for _, e := range all {
		if e.op.Statement() {
			by[e.session] = append(by[e.session], e)
		}
	}
	return by
}
