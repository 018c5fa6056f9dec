package trace

// Totals counts what a trace, or a writer so far, holds.
type Totals struct {
	Sessions   uint64 `json:"sessions"`
	Events     uint64 `json:"events"`
	Requests   uint64 `json:"requests"`
	Statements uint64 `json:"statements"`
	Gaps       uint64 `json:"gaps"`    // gap records
	Missing    uint64 `json:"missing"` // events the gaps name
	Bytes      uint64 `json:"bytes"`   // stored
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
	t.Bytes += o.Bytes
}
