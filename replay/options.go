package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/internal/target"
	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

// Options say what to replay against, and how.
type Options struct {
	Target   *target.Target
	Pace     string        // "" follows the trace: original, or closed for one without a schedule
	Speed    float64       // of paces original and think; 0 means 1
	Rate     float64       // of pace rate: requests a second
	MaxGap   time.Duration // of paces original and think: recorded silence is cut to this; 0 means never
	Loops    int           // how often the trace is replayed; 0 means once. More needs Again
	Duration time.Duration // stop sending after this; 0 means at the end of the trace

	Only, Skip     *filter.Filter    // statements to send, and not to send; nil leaves none out
	ReadOnly       bool              // leave out what may change data
	UserMap        map[string]string // who logs in for a recorded user; for others it is the Target's
	Retry          int               // how often a transaction is sent again after a serialization failure
	AllowDangerous bool              // send even what could harm more than the data, see sqltext.Danger

	Order     string        // OrderSession or OrderCommit; "" means OrderSession
	OrderWait time.Duration // of OrderCommit: bounds a wait for other transactions; 0 means DefaultOrderWait

	Run    io.Writer // where the run goes, as a trace; nil for nowhere
	Tool   string    // version, for the run's header
	Label  string    // of the run
	Number int       // of the run among those of its label, from 1; 0 where it is the only one

	// What is known of the trace before it is read, and a second reader of it,
	// to count its sessions and to replay it again. Both are nil where it can be
	// read only once.
	Known *trace.Summary
	Again func(trace.ReadOptions) (*trace.Reader, error)

	Check bool // compare the checksums of results with the recorded ones, and write them into the run

	AllowCapturedTarget bool
	Clock               clock.Clock     // nil means the most precise one there is
	Warn                func(string)    // takes what is worth knowing before the run; nil means nobody does
	Started             func(*Progress) // is given the live counters before the clock starts

	// Fault makes the player forget an event, for the tests of the accounting.
	Fault func(session, ordinal uint64) bool

	connect  connector // in place of Target, for tests
	prefetch int64     // in place of the constant, for tests
	threads  bool      // a goroutine per session, where loops would do
}

// UsageError is a mistake of the caller, with the flags that would do.
type UsageError struct {
	Message string
	Try     string
}

func (e *UsageError) Error() string { return e.Message }

// Validate tells whether pace and what goes with it make sense together.
func (o *Options) Validate() error {
	if o.Loops < 0 {
		return &UsageError{fmt.Sprintf("--loop %d is not a number of times", o.Loops), "--loop 3"}
	}
	if err := o.validateOrder(); err != nil {
		return err
	}
	if o.Retry < 0 {
		return &UsageError{fmt.Sprintf("--retry %d is negative", o.Retry), "--retry 3"}
	}
	if o.Only.NeedsReply() || o.Skip.NeedsReply() {
		return &UsageError{"what is sent cannot be chosen by its reply: status, error, took, rows and bytes are known afterwards", "--only op:select"}
	}
	return o.checkPace(cmp.Or(o.Pace, PaceOriginal)) // the least strict; the trace decides
}

func (o *Options) validateOrder() error {
	switch {
	case o.Order != "" && o.Order != OrderSession && o.Order != OrderCommit:
		return &UsageError{fmt.Sprintf("unknown order %q: there are session and commit", o.Order), "--order commit"}
	case o.OrderWait < 0:
		return &UsageError{fmt.Sprintf("--order-wait %s is negative", o.OrderWait), "--order commit --order-wait 5s"}
	case o.OrderWait != 0 && o.Order != OrderCommit:
		return &UsageError{"--order-wait has no meaning without --order commit", "--order commit --order-wait " + o.OrderWait.String()}
	}
	return nil
}

// checkOrder refuses an order that the trace does not know.
func (o *Options) checkOrder(h *trace.Header) error {
	if o.Order != OrderCommit || h.Timing != trace.TimingClosedLoop {
		return nil
	}
	return &UsageError{"--order commit has no meaning here: the trace has no recorded times, so that nothing is known of the order of its commits", "--order session"}
}

func (o *Options) orderWait() time.Duration { return cmp.Or(o.OrderWait, DefaultOrderWait) }

// CheckSpeed refuses what no schedule can be divided by.
func CheckSpeed(speed float64) error {
	if speed > 0 && !math.IsInf(speed, 0) { // NaN is not above 0
		return nil
	}
	return &UsageError{fmt.Sprintf("speed %v is not a positive number", speed), "--speed 2"}
}

// paceOf settles the pace once the trace's header is known.
func (o *Options) paceOf(h *trace.Header) (string, error) {
	name := o.Pace
	switch {
	case name != "":
	case h.Timing == trace.TimingClosedLoop:
		name = PaceClosed
	default:
		name = PaceOriginal
	}
	err := o.checkPace(name)
	if usage := (*UsageError)(nil); o.Pace == "" && errors.As(err, &usage) {
		usage.Message += " (the pace of this trace)"
	}
	return name, err
}
