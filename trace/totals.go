package trace

// Totals counts what a trace, or a writer so far, holds.
type Totals struct {
	Sessions   uint64 `json:"sessions"`
	Events     uint64 `json:"events"`
	Requests   uint64 `json:"requests"`
	Statements uint64 `json:"statements"`
	Gaps       uint64 `json:"gaps"`     // gap records of losses
	Missing    uint64 `json:"missing"`  // events these name
	LeftOut    uint64 `json:"left_out"` // events left out on purpose
	Bytes      uint64 `json:"bytes"`    // stored
	First      int64  `json:"first_ns"`
	Last       int64  `json:"last_ns"` // end of the last reply known
}

// add counts what o holds as well. Times of what holds no event count for
// nothing, but for an end that came late.
func (t *Totals) add(o Totals) {
	if o.Events > 0 && (t.Events == 0 || o.First < t.First) {
		t.First = o.First
	}
	t.Last = max(t.Last, o.Last)
	t.Sessions += o.Sessions
	t.Events += o.Events
	t.Requests += o.Requests
	t.Statements += o.Statements
	t.Gaps += o.Gaps
	t.Missing += o.Missing
	t.LeftOut += o.LeftOut
	t.Bytes += o.Bytes
}

// gap counts what a gap record names.
func (t *Totals) gap(g *Gap) {
	if g.LeftOut {
		t.LeftOut += g.Events()
		return
	}
	t.Gaps++
	t.Missing += g.Events()
}
