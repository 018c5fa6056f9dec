package sim

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Truth is what a server has really done. A statement is a Query message or
// the first Execute of a portal; its time is from when the server had it, and
// was done with the one before, to when the last byte of its answer had been
// handed to the system. Times are of statements that succeeded.
type Truth struct {
	Schema      int     `json:"schema"`
	Profile     string  `json:"profile"`
	Seed        uint64  `json:"seed"`
	ElapsedS    float64 `json:"elapsed_s"`
	Connections uint64  `json:"connections"` // let in
	Refused     uint64  `json:"refused"`     // too many
	Cancels     uint64  `json:"cancels"`     // with a right key

	Statements Counts            `json:"statements"`
	Errors     map[string]uint64 `json:"errors"` // by SQLSTATE
	Times
	Latencies []RuleTruth    `json:"latencies"` // per --latency, the one for all others last
	Tables    map[string]int `json:"tables"`    // rows that were written and are there
}

// Counts are of statements. Answered = ok + error.
type Counts struct {
	Answered   uint64 `json:"answered"`
	OK         uint64 `json:"ok"`
	Error      uint64 `json:"error"`
	Skipped    uint64 `json:"skipped"`    // discarded, after an error of their pipeline
	Unanswered uint64 `json:"unanswered"` // their connection broke
	Asked      uint64 `json:"asked"`      // about the server itself: in no other figure
}

// Times are what was meant, what was done, and how late that was.
type Times struct {
	IntendedUS *Spread `json:"intended_us"` // drawn, with what freezes added
	ActualUS   *Spread `json:"actual_us"`
	LateUS     *Spread `json:"late_us"` // of each statement, failed ones too
}

// RuleTruth is the truth about the statements of one latency rule.
type RuleTruth struct {
	Match   string `json:"match"`
	Latency string `json:"latency"`
	OK      uint64 `json:"ok"`
	Error   uint64 `json:"error"`
	Times
}

// Spread is a distribution, in microseconds.
type Spread struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// served is a statement that is done, its answer not yet.
type served struct {
	rule  int
	start int64
	due   int64
	code  string // "" is ok
}

// recorder keeps the truth.
type recorder struct {
	leaving atomic.Int64 // sessions that are writing an answer, not yet recorded

	mu    sync.Mutex
	began int64
	t     Truth
	all   measured
	rules []measured
}

func newRecorder(rules int) *recorder {
	r := &recorder{rules: make([]measured, rules)}
	r.t.Errors = map[string]uint64{}
	return r
}

func (r *recorder) begin(now int64) { r.began = now }

// left records statements whose answers have left the socket together.
func (r *recorder) left(all []served, now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var before int64 // when the answer before was gone
	for _, s := range all {
		start := max(s.start, before)
		r.t.Statements.Answered++
		if s.code == "" {
			r.t.Statements.OK++
		} else {
			r.t.Statements.Error++
			r.t.Errors[s.code]++
		}
		r.all.record(s, start, now)
		if s.rule >= 0 {
			r.rules[s.rule].record(s, start, now)
		}
		before = now
	}
}

func (r *recorder) count(f func(*Truth)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.t)
}

func (r *recorder) cancelled() { r.count(func(t *Truth) { t.Cancels++ }) }
func (r *recorder) skipped()   { r.count(func(t *Truth) { t.Statements.Skipped++ }) }
func (r *recorder) asked()     { r.count(func(t *Truth) { t.Statements.Asked++ }) }
func (r *recorder) unanswered(n int) {
	r.count(func(t *Truth) { t.Statements.Unanswered += uint64(n) })
}

func (r *recorder) connected(in bool) {
	r.count(func(t *Truth) {
		if in {
			t.Connections++
		} else {
			t.Refused++
		}
	})
}

// settle waits for answers that a client may have and the truth has not yet,
// but for no client that does not read.
func (r *recorder) settle() {
	for range 100 {
		if r.leaving.Load() == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *recorder) truth() Truth {
	r.settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.t
	t.Schema, t.Profile = 1, "plain"
	t.Errors = make(map[string]uint64, len(r.t.Errors))
	for code, n := range r.t.Errors {
		t.Errors[code] = n
	}
	t.Times = r.all.times()
	for i := range r.rules {
		m := &r.rules[i]
		t.Latencies = append(t.Latencies, RuleTruth{OK: m.ok, Error: m.failed, Times: m.times()})
	}
	return t
}

// measured are the distributions of some statements, made when the first comes.
type measured struct {
	ok, failed             uint64
	intended, actual, late *hdrhistogram.Histogram
}

func (m *measured) record(s served, start, now int64) {
	if m.late == nil {
		m.intended, m.actual, m.late = newHistogram(), newHistogram(), newHistogram()
	}
	record(m.late, now-max(s.due, start))
	if s.code != "" {
		m.failed++
		return
	}
	m.ok++
	record(m.intended, s.due-s.start)
	record(m.actual, now-start)
}

func (m *measured) times() Times {
	return Times{IntendedUS: spread(m.intended), ActualUS: spread(m.actual), LateUS: spread(m.late)}
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(2*longest), 3) }

func record(h *hdrhistogram.Histogram, ns int64) {
	// It refuses only what is out of range, and this is not.
	_ = h.RecordValue(min(max(ns, 0), int64(2*longest)))
}

// spread is nil where there is no data.
func spread(h *hdrhistogram.Histogram) *Spread {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	at := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1e3 }
	return &Spread{Mean: h.Mean() / 1e3, P50: at(50), P95: at(95), P99: at(99), P999: at(99.9), Max: float64(h.Max()) / 1e3}
}
