// Package calibrate makes up runs whose differences are known, has analyze
// compare them, and counts how often its verdicts are right.
package calibrate

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// Workload is made-up traffic. Latencies are lognormal; what is long is followed
// by what is long (an autoregressive process of order one); and for five seconds
// of each run, at a time of its own, everything takes three times as long.
type Workload struct {
	Fingerprints int
	Executions   int // of each
	Span         time.Duration
	Along        Along // what the noise goes along
}

// Along says which statements come after each other in the noise.
type Along bool

const (
	Sessions     Along = false // those of a session, whatever they are
	Fingerprints Along = true  // those of a fingerprint: harder to tell from a change
)

func (a Along) String() string {
	if a == Fingerprints {
		return "fingerprints"
	}
	return "sessions"
}

const (
	sigma     = 0.5
	rho       = 0.5
	slow      = 3.0
	slowPhase = 5 * time.Second
	sessions  = 64
)

// The changes that a changed run has.
const (
	Shifted   = 0 // the fingerprint that takes Shift times as long
	Tailed    = 1 // the one of whose executions one in a hundred takes Tail times as long
	Shift     = 1.2
	Tail      = 20.0
	tailShare = 0.01
)

// Run is one run of the workload: the same statements for any seed, at the same
// times, with latencies of the seed's own.
func (w Workload) Run(seed uint64, changed bool) iter.Seq[*trace.Event] {
	return func(yield func(*trace.Event) bool) {
		order := rand.New(rand.NewPCG(1, 1)) // of the statements: the workload's, not the run's
		m := newMachine(w, seed, changed)
		entries := w.entries()
		total := w.Fingerprints * w.Executions
		var e trace.Event
		for i := range total {
			if i%w.Fingerprints == 0 {
				order.Shuffle(len(entries), func(a, b int) { entries[a], entries[b] = entries[b], entries[a] })
			}
			which := entries[i%w.Fingerprints]
			at := time.Duration(float64(w.Span) * float64(i) / float64(total))
			e = trace.Event{
				Session: uint64(i % sessions), Ordinal: uint64(i / sessions), Start: 1 + int64(at), Entry: which.entry, RequestEnd: true,
				HasReply: true, Reply: trace.Reply{Took: m.took(i%sessions, which.number, at), Results: 1, Rows: 1, State: 'I'},
			}
			if !yield(&e) {
				return
			}
		}
	}
}

type numbered struct {
	number int
	entry  *trace.Entry
}

func (w Workload) entries() []numbered {
	all := make([]numbered, w.Fingerprints)
	for i := range all {
		all[i] = numbered{i, &trace.Entry{Op: trace.OpExecute, Text: Statement(i)}}
	}
	return all
}

// Statement is the text of a fingerprint, which is its own.
func Statement(number int) string { return fmt.Sprintf("select * from t%d", number) }

// machine is what a run runs on.
type machine struct {
	Workload
	random  *rand.Rand
	noise   []float64
	slow    time.Duration // begin of the slow phase
	changed bool
}

func newMachine(w Workload, seed uint64, changed bool) *machine {
	m := &machine{Workload: w, random: rand.New(rand.NewPCG(seed, 2)), changed: changed}
	m.noise = make([]float64, max(sessions, w.Fingerprints))
	for i := range m.noise {
		m.noise[i] = m.random.NormFloat64()
	}
	m.slow = time.Duration(m.random.Int64N(int64(w.Span - slowPhase)))
	return m
}

func (m *machine) took(session, number int, at time.Duration) int64 {
	along := session
	if m.Along == Fingerprints {
		along = number
	}
	m.noise[along] = rho*m.noise[along] + math.Sqrt(1-rho*rho)*m.random.NormFloat64()
	us := (50 + float64(number%100)) * math.Exp(sigma*m.noise[along])
	if at >= m.slow && at < m.slow+slowPhase {
		us *= slow
	}
	if m.changed && number == Shifted {
		us *= Shift
	}
	if m.changed && number == Tailed && m.random.Float64() < tailShare {
		us *= Tail
	}
	return int64(us * 1e3)
}
