package program

// The JSON reports of the verbs, as far as tests, demo and bench read them.

// Captured is the report of capture.
type Captured struct {
	Schema     int     `json:"schema"`
	ElapsedS   float64 `json:"elapsed_s"`
	Sessions   int64   `json:"sessions"`
	Requests   int64   `json:"requests"`
	Statements int64   `json:"statements"`
	Bytes      int64   `json:"bytes"`
	Gaps       []Gap   `json:"gaps"`
	Missing    int64   `json:"missing"`
	Complete   bool    `json:"complete"`
}

// Gap names events that are missing.
type Gap struct {
	Session uint64 `json:"session"`
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
	Why     string `json:"why"`
}

// Info is the report of trace info.
type Info struct {
	Engine            string  `json:"engine"`
	Complete          bool    `json:"complete"`
	Bytes             int64   `json:"bytes"`
	Sessions          int64   `json:"sessions"`
	Requests          int64   `json:"requests"`
	Statements        int64   `json:"statements"`
	SpanS             float64 `json:"span_s"`
	BytesPerStatement float64 `json:"bytes_per_statement"`
	Timing            string  `json:"timing"`
}

// Counts are the classes that every captured statement falls into one of.
type Counts struct {
	Captured int64 `json:"captured"`
	OK       int64 `json:"ok"`
	Error    int64 `json:"error"`
	Skipped  int64 `json:"skipped"`
	Filtered int64 `json:"filtered"`
	Lost     int64 `json:"lost"`
	Unsent   int64 `json:"unsent"`
}

// Sum is what Captured must be.
func (c Counts) Sum() int64 { return c.OK + c.Error + c.Skipped + c.Filtered + c.Lost + c.Unsent }

// Quantiles are in microseconds.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Replayed is the report of replay.
type Replayed struct {
	Schema         int              `json:"schema"`
	Pace           string           `json:"pace"`
	Speed          float64          `json:"speed"`
	ElapsedS       float64          `json:"elapsed_s"`
	Partial        bool             `json:"partial"`
	Sessions       int64            `json:"sessions"`
	Statements     Counts           `json:"statements"`
	Reasons        map[string]int64 `json:"reasons"`
	Errors         map[string]int64 `json:"errors"`
	Diverged       int64            `json:"diverged"`
	DivergedResult int64            `json:"diverged_result"`
	Checked        int64            `json:"checked"`
	ScheduleError  *Quantiles       `json:"schedule_error_us"`
	Lag            *Quantiles       `json:"lag_us"`
	Valid          bool             `json:"valid"`
	KeptUp         bool             `json:"kept_up"`
	Why            []string         `json:"why"`
	Stalls         []Stall          `json:"stalls"`
}

// Stall is when and for how long the program itself stood still.
type Stall struct {
	AtS float64 `json:"at_s"`
	S   float64 `json:"s"`
}

// Side is one run's figures in a report of analyze.
type Side struct {
	Count    int64            `json:"count"`
	Errors   map[string]int64 `json:"errors"`
	Service  *Quantiles       `json:"service_us"`
	Response *Quantiles       `json:"response_us"`
}

// Analyzed is the report of analyze.
type Analyzed struct {
	Schema int `json:"schema"`
	Runs   []struct {
		Label string `json:"label"`
	} `json:"runs"`
	Total struct {
		Runs []Side `json:"runs"`
	} `json:"total"`
	Fingerprints []struct {
		ID      string `json:"id"`
		SQL     string `json:"sql"`
		Op      string `json:"op"`
		Runs    []Side `json:"runs"`
		Verdict string `json:"verdict"` // empty for a single run
	} `json:"fingerprints"`
}

// Difference is the report of trace diff.
type Difference struct {
	Equal bool `json:"equal"`
}
