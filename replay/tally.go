package replay

import "github.com/retrace-db/retrace/trace"

// Tally counts by outcome. Captured is counted where events are read, each of
// the others where it happens, so that the sum proves something.
type Tally struct {
	Captured uint64 `json:"captured"`
	OK       uint64 `json:"ok"`
	Error    uint64 `json:"error"`
	Skipped  uint64 `json:"skipped"`
	Filtered uint64 `json:"filtered"`
	Lost     uint64 `json:"lost"`
	Unsent   uint64 `json:"unsent"`
}

func (t *Tally) count(s trace.Status) {
	switch s {
	case trace.OK:
		t.OK++
	case trace.Error:
		t.Error++
	case trace.Skipped:
		t.Skipped++
	case trace.Filtered:
		t.Filtered++
	case trace.Lost:
		t.Lost++
	case trace.Unsent:
		t.Unsent++
	}
}

func (t *Tally) add(o *Tally) {
	t.Captured += o.Captured
	t.OK += o.OK
	t.Error += o.Error
	t.Skipped += o.Skipped
	t.Filtered += o.Filtered
	t.Lost += o.Lost
	t.Unsent += o.Unsent
}

// Sum is what Captured must be.
func (t *Tally) Sum() uint64 {
	return t.OK + t.Error + t.Skipped + t.Filtered + t.Lost + t.Unsent
}

// Holds tells whether every captured event has an outcome, and none has two.
func (t *Tally) Holds() bool { return t.Captured == t.Sum() }

// counts are a Tally of statements and one of all events.
type counts struct{ statements, events Tally }

func (c *counts) count(op trace.Op, s trace.Status) {
	c.events.count(s)
	if op.Statement() {
		c.statements.count(s)
	}
}

func (c *counts) captured(op trace.Op) {
	c.events.Captured++
	if op.Statement() {
		c.statements.Captured++
	}
}

func (c *counts) add(o *counts) {
	c.statements.add(&o.statements)
	c.events.add(&o.events)
}

func (c *counts) holds() bool { return c.statements.Holds() && c.events.Holds() }
