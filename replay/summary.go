package replay

// Summary is the JSON of a replay.
type Summary struct {
	Schema   int      `json:"schema"`
	Source   string   `json:"source"` // identity of the trace
	Target   string   `json:"target"`
	Pace     string   `json:"pace"`
	Speed    *float64 `json:"speed"`     // null where it has no meaning
	MaxGapS  *float64 `json:"max_gap_s"` // null where no silence was to be cut
	GapsCut  uint64   `json:"gaps_cut"`
	CutS     float64  `json:"cut_s"`      // recorded time
	Loops    []Loop   `json:"loops"`      // null where the trace was replayed once; the first 1,000
	RatePerS *float64 `json:"rate_per_s"` // requests; null but in pace rate
	ElapsedS float64  `json:"elapsed_s"`
	Partial  bool     `json:"partial"` // interrupted: the rest of the trace was not read

	Sessions       uint64 `json:"sessions"`
	SessionsFailed uint64 `json:"sessions_failed"` // got no connection
	SessionsLost   uint64 `json:"sessions_lost"`   // whose connection broke
	PeakSessions   int    `json:"peak_sessions"`   // at once, in the replay

	Statements   Tally             `json:"statements"`
	Events       Tally             `json:"events"`  // statements and everything else
	Reasons      map[string]uint64 `json:"reasons"` // of statements skipped, filtered, lost, unsent
	Errors       map[string]uint64 `json:"errors"`  // of statements, by SQLSTATE
	EventReasons map[string]uint64 `json:"event_reasons"`
	EventErrors  map[string]uint64 `json:"event_errors"`

	Dangerous map[string]uint64 `json:"dangerous"` // statements that could harm more than the data, by what they would do

	Order         string  `json:"order"`          // session or commit
	OrderReleased uint64  `json:"order_released"` // transactions that started before one they should have waited for was over
	OrderWaited   uint64  `json:"order_waited"`   // transactions that waited for others
	OrderWaitUS   *Spread `json:"order_wait_us"`  // how long; null where none did

	Retries       uint64            `json:"retries"`        // attempts beyond the first, in no other count
	Retried       uint64            `json:"retried"`        // transactions that took several attempts
	RetriedUS     *Spread           `json:"retried_us"`     // from their first attempt's start to the last one's end
	NotRetried    map[string]uint64 `json:"not_retried"`    // serialization failures that stayed, by reason
	PreparedAgain uint64            `json:"prepared_again"` // statements prepared late, their Parse having been skipped

	Compared       uint64  `json:"compared"` // statements with an outcome on both sides
	Diverged       uint64  `json:"diverged"`
	DivergedStatus uint64  `json:"diverged_status"`
	DivergedRows   uint64  `json:"diverged_rows"`
	DivergedResult *uint64 `json:"diverged_result"` // null where no results were compared
	Checked        *uint64 `json:"checked"`         // of compared: those whose results were; null without a check
	DivergedOther  uint64  `json:"diverged_other"`  // events that are no statements
	DivergedPct    float64 `json:"diverged_pct"`    // of compared

	Divergences     []Divergence `json:"divergences"`      // the texts with the most diverging statements
	DivergencesRest uint64       `json:"divergences_rest"` // diverging statements of other texts

	ServiceUS       *Spread `json:"service_us"`
	ScheduleErrorUS *Spread `json:"schedule_error_us"` // null where nothing is waited for but replies
	LagUS           *Spread `json:"lag_us"`
	BusyUS          *Spread `json:"busy_us"` // the part of the lag that the target made

	Stalls []Stall `json:"stalls"` // when retrace itself stood still, the first 100; null where it never did

	Accounted bool     `json:"accounted"` // captured is the sum of the outcomes, everywhere
	Valid     bool     `json:"valid"`
	KeptUp    *bool    `json:"kept_up"` // null where there is no schedule
	Why       []string `json:"why"`
	Warnings  []string `json:"warnings"`
}

// Incomplete tells whether events that were to be replayed got no outcome on
// the target for want of a connection.
func (s *Summary) Incomplete() bool { return s.SessionsFailed > 0 || s.SessionsLost > 0 }
