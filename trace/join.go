package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// JoinOptions say how Join works.
type JoinOptions struct {
	// Tick is called after each block with the events copied so far; an error
	// of it ends the copying.
	Tick func(events uint64) error

	keep func(session uint64, s *State) bool // nil: all; s is nil where it is not known
}

// Joined says what a joined trace holds, and what could not be read for it.
type Joined struct {
	Totals            // of what was written
	Segments   int    // written
	LostGaps   uint64 // gaps that stand for events which could not be read
	LostEvents uint64 // how many these name
	Unanswered uint64 // events whose reply is not there
	Damage     []Damage
	Complete   bool // the input was whole: nothing is lost
}

// Join writes all that a reader gives as one trace with one dictionary and
// fresh indexes: every event once with its reply, the states and the gaps.
// What was damaged leaves holes in the ordinals of sessions; each is named in a
// gap. On an error, Joined tells what was written so far.
//
// If the reader follows sessions (see Reader.Follow) the result has checkpoints,
// and segments of the size that any trace has. If not, a segment begins only
// where one of the input does and no other trace is being read beside it.
func Join(r *Reader, out io.Writer, o JoinOptions) (*Joined, error) {
	c, err := newCopier(r, out, o, nil)
	if err != nil {
		return nil, err
	}
	err = c.run()
	if err == nil {
		err = c.finish()
	}
	return c.result(), err
}

// newCopier begins a copy; amend, if any, makes its header that of what is made.
func newCopier(r *Reader, out io.Writer, o JoinOptions, amend func(*copier, *Header)) (*copier, error) {
	h, columns, err := joinedHeader(r)
	if err != nil {
		return nil, err
	}
	c := &copier{
		reader: r, options: o, head: h, joins: h.Trace != r.Header().Trace, anchor: startedAt(h),
		sessions: map[uint64]*followed{}, passed: map[uint64]bool{}, holes: newHoles(), segments: map[string]*Header{},
	}
	if amend != nil {
		amend(c, h)
	}
	columns.Now = func() int64 { return c.anchor }
	if r.follower != nil {
		c.live, columns.States = newSessions(r.follower), c.now
	}
	if c.w, err = NewWriter(out, *h, columns); err != nil {
		return nil, err
	}
	c.w.steady = r.follower == nil
	return c, nil
}

// joinedHeader is the start block of a trace made of those a reader knows, and
// the columns it needs.
func joinedHeader(r *Reader) (*Header, WriterOptions, error) {
	if r.Header() == nil {
		var b Batch
		return nil, WriterOptions{}, r.Next(&b)
	}
	var all []*Header // the first segment of each trace
	for _, h := range r.Headers() {
		if !slices.ContainsFunc(all, func(o *Header) bool { return o.Trace == h.Trace }) {
			all = append(all, h)
		}
	}
	for _, h := range all[1:] {
		if err := mayJoin(all[0], h); err != nil {
			return nil, WriterOptions{}, err
		}
	}
	joined := *all[0]
	joined.Extra = maps.Clone(joined.Extra)
	for _, h := range all[1:] {
		joined.add(h)
	}
	if len(all) > 1 {
		joined.Trace, joined.Segment, joined.Continues = joinedID(joined.Joined), 0, false
	}
	return &joined, columnsOf(r.Headers()), nil
}

// mayJoin refuses what would make no one trace.
func mayJoin(a, b *Header) error {
	switch {
	case a.Engine != b.Engine:
		return fmt.Errorf("trace %s was recorded at %s and trace %s at %s: they cannot be one trace", a.Trace, a.Engine, b.Trace, b.Engine)
	case a.IsRun() != b.IsRun():
		return fmt.Errorf("one of the traces %s and %s is a recording and the other a run: they cannot be one trace; analyze takes them side by side", a.Trace, b.Trace)
	case a.IsRun():
		return fmt.Errorf("traces %s and %s are two runs, of which each has events of its own by the same names: they cannot be one trace; analyze takes them side by side", a.Trace, b.Trace)
	}
	return nil
}

// add makes a header speak for a further trace.
func (h *Header) add(o *Header) {
	if len(h.Joined) == 0 {
		h.Joined = []string{h.Trace}
	}
	if len(o.Joined) > 0 {
		h.Joined = append(h.Joined, o.Joined...)
	} else {
		h.Joined = append(h.Joined, o.Trace)
	}
	h.chosen(o)
	if startedAt(o) < startedAt(h) {
		h.Started = o.Started
	}
	h.TickNS = gcd(h.TickNS, o.TickNS)
	if o.Timing != TimingOriginal {
		h.Timing = o.Timing
	}
	h.PausedFrom = ""
	if h.Redaction != nil && (o.Redaction == nil || *h.Redaction != *o.Redaction) {
		h.Redaction = nil // it is not true of all
	}
	if o.Source == nil {
		return
	}
	if h.Source == nil {
		h.Source = &Source{}
	}
	s := *h.Source
	s.Addresses = union(s.Addresses, o.Source.Addresses)
	s.Listen = union(s.Listen, o.Source.Listen)
	s.Target = strings.Join(union(strings.Fields(s.Target), strings.Fields(o.Source.Target)), " ")
	h.Source = &s
}

// chosen keeps what is true of both: how much was to be recorded, and where a
// copy of the server, if it is one, should begin.
func (h *Header) chosen(o *Header) {
	if h.Sample == 0 || o.Sample > 0 && o.Sample < h.Sample {
		h.Sample = o.Sample
	}
	if h.Only != o.Only {
		h.Only = "" // gaps say what was left out
	}
	switch {
	case h.Restore == nil || o.Restore == nil || h.Restore.SystemIdentifier != o.Restore.SystemIdentifier:
		h.Restore = nil
	case startedAt(o) < startedAt(h):
		h.Restore = o.Restore
	}
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// joinedID follows from the ids of what is joined, so that the same input makes
// the same bytes; it can be guessed as little as they can.
func joinedID(of []string) string {
	sum := sha256.Sum256([]byte(strings.Join(of, "+")))
	return hex.EncodeToString(sum[:16])
}

// columnsOf are the columns that hold what any of these segments holds; of
// checksums what all hold, since there is no value for one that was not taken.
func columnsOf(headers []*Header) WriterOptions {
	o := WriterOptions{NoValues: headers[0].IsRun(), Checksums: true}
	for _, h := range headers {
		unsaid := len(h.Columns) == 0
		o.Due = o.Due || unsaid || slices.Contains(h.Columns, "due")
		o.Diverged = o.Diverged || unsaid || slices.Contains(h.Columns, "diverged")
		o.Checksums = o.Checksums && slices.Contains(h.Columns, "checksum")
	}
	return o
}

var errJoinedPipe = errors.New("name the files instead of a pipe")
