package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/retrace-db/retrace/trace"
)

// Divergence is a text whose statements ended otherwise than they were recorded.
type Divergence struct {
	SQL        string    `json:"sql"` // literals folded
	Statements uint64    `json:"statements"`
	Status     uint64    `json:"status"`
	Rows       uint64    `json:"rows"`
	Result     uint64    `json:"result"`
	First      Diverging `json:"first"` // by recorded time
}

// Diverging is one event with both its outcomes.
type Diverging struct {
	Session  uint64  `json:"session"`
	Ordinal  uint64  `json:"ordinal"`
	Recorded Outcome `json:"recorded"`
	Replayed Outcome `json:"replayed"`

	start int64
}

// Outcome is how an event ended.
type Outcome struct {
	Status string `json:"status"`
	Reason string `json:"reason"` // "" in a recording
	Rows   uint64 `json:"rows"`
}

const (
	maxTexts       = 256 // kept, in each stripe of the account
	maxText        = 500 // bytes of each
	maxDivergences = 10  // told
)

// divergences counts diverging statements by their text, as far as there is
// room: which statements diverge the most is nearly always clear early.
type divergences struct {
	texts map[string]*Divergence
	rest  uint64 // statements of other texts
}

func (d *divergences) note(session uint64, f *flight) {
	if f.diverged == 0 || !f.op.Statement() {
		return
	}
	sql := f.entry.SQL()
	sql = strings.ToValidUTF8(sql[:min(len(sql), maxText)], "\uFFFD")
	known := d.texts[sql]
	if known == nil {
		if len(d.texts) == maxTexts {
			d.rest++
			return
		}
		if d.texts == nil {
			d.texts = map[string]*Divergence{}
		}
		known = &Divergence{SQL: strings.Clone(sql), First: f.diverging(session)}
		d.texts[known.SQL] = known
	}
	known.Statements++
	known.Status += bit(f.diverged, trace.DivergedStatus)
	known.Rows += bit(f.diverged, trace.DivergedRows)
	known.Result += bit(f.diverged, trace.DivergedResult)
	if f.start < known.First.start {
		known.First = f.diverging(session)
	}
}

func bit(d, b trace.Diverged) uint64 {
	if d&b != 0 {
		return 1
	}
	return 0
}

func (f *flight) diverging(session uint64) Diverging {
	return Diverging{
		Session: session, Ordinal: f.ordinal, start: f.start,
		Recorded: Outcome{Status: f.was.String(), Rows: f.wasRows},
		Replayed: Outcome{Status: f.status.String(), Reason: f.reason, Rows: f.rows},
	}
}

func (d *divergences) merge(o *divergences) {
	d.rest += o.rest
	for sql, from := range o.texts {
		to := d.texts[sql]
		if to == nil {
			if d.texts == nil {
				d.texts = map[string]*Divergence{}
			}
			own := *from
			d.texts[sql] = &own
			continue
		}
		to.Statements += from.Statements
		to.Status, to.Rows, to.Result = to.Status+from.Status, to.Rows+from.Rows, to.Result+from.Result
		if from.First.start < to.First.start {
			to.First = from.First
		}
	}
}

// worst lists the texts with the most diverging statements, and counts the
// statements of all others.
func (d *divergences) worst() (all []Divergence, rest uint64) {
	all, rest = []Divergence{}, d.rest
	for _, one := range d.texts {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Divergence) int {
		return cmp.Or(cmp.Compare(b.Statements, a.Statements), cmp.Compare(a.First.start, b.First.start), cmp.Compare(a.SQL, b.SQL))
	})
	for len(all) > maxDivergences {
		rest += all[len(all)-1].Statements
		all = all[:len(all)-1]
	}
	return all, rest
}
