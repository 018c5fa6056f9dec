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
