package analyze

import "github.com/retrace-db/retrace/trace"

// figures are what is counted of the statements of one fingerprint, or of all
// of them, in one run.
type figures struct {
	count    uint64
	ok       uint64
	fetches  uint64
	rows     uint64
	bytes    uint64
	outcomes map[outcome]uint64 // of what was not ok
	diverged Diverged
	service  distribution
	response distribution
	sketch   sketch
	onces    []once // of a group: a sample of each run
	sampled  once   // what these are of, in all
	worst    worst
}

type outcome struct {
	status trace.Status
	reason string
}

// maxOutcomes bounds the table against a file that gives each statement a
// reason of its own.
const maxOutcomes = 256

// outcome counts how a statement ended.
func (f *figures) outcome(status trace.Status, reason string) {
	if status == trace.OK {
		f.ok++
		return
	}
	if f.outcomes == nil {
		f.outcomes = map[outcome]uint64{}
	}
	key := outcome{status, reason}
	if _, ok := f.outcomes[key]; !ok && len(f.outcomes) >= maxOutcomes {
		key.reason = "other"
	}
	f.outcomes[key]++
}

// merge adds the figures of another run. What is kept of single statements stays
// apart.
func (f *figures) merge(g *figures) {
	f.count, f.ok, f.fetches, f.rows, f.bytes = f.count+g.count, f.ok+g.ok, f.fetches+g.fetches, f.rows+g.rows, f.bytes+g.bytes
	for o, n := range g.outcomes {
		if f.outcomes == nil {
			f.outcomes = map[outcome]uint64{}
		}
		if _, ok := f.outcomes[o]; !ok && len(f.outcomes) >= maxOutcomes {
			o.reason = "other"
		}
		f.outcomes[o] += n
	}
	f.diverged.add(g.diverged)
	f.service.merge(&g.service)
	f.response.merge(&g.response)
}

func (d *Diverged) add(e Diverged) {
	d.Statements, d.Status, d.Rows, d.Result = d.Statements+e.Statements, d.Status+e.Status, d.Rows+e.Rows, d.Result+e.Result
}

// reply adds what a statement, or a fetch of it, brought back.
func (f *figures) reply(e *trace.Event) {
	f.rows += e.Rows
	f.bytes += e.Bytes
}

func (f *figures) divergence(d trace.Diverged) {
	if d == 0 {
		return
	}
	f.diverged.Statements++
	if d&trace.DivergedStatus != 0 {
		f.diverged.Status++
	}
	if d&trace.DivergedRows != 0 {
		f.diverged.Rows++
	}
	if d&trace.DivergedResult != 0 {
		f.diverged.Result++
	}
}

// Diverged counts statements whose outcome in a replay was not the recorded one.
type Diverged struct {
	Statements uint64 `json:"statements"`
	Status     uint64 `json:"status"`
	Rows       uint64 `json:"rows"`
	Result     uint64 `json:"result"` // the rows are as many and not the same: where results were compared
}

// timing is what a statement's parts add up to.
type timing struct {
	service  int64
	response int64
	due      bool

	start    int64 // of its first part
	session  uint64
	ordinal  uint64
	key      uint64 // hash of its name
	diverged bool
}

func (t *timing) add(u timing) {
	t.service += u.service
	t.response += u.response
	t.due = t.due && u.due
	t.diverged = t.diverged || u.diverged
}

func (f *figures) time(t timing) {
	f.service.record(t.service)
	if t.due {
		f.response.record(t.response)
	}
}
