package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Difference is what Diff found. Pairs are of the first and the second trace.
type Difference struct {
	Equal           bool             `json:"equal"`
	Sessions        [2]uint64        `json:"sessions"`
	Events          [2]uint64        `json:"events"`
	Exempt          [2]uint64        `json:"exempt"` // events left out: cancels, redacted ones, ones over the limit, preflights
	Complete        [2]bool          `json:"complete"`
	FirstDifference *FirstDifference `json:"first_difference"`
}

// FirstDifference is the first place where two traces part. A session or
// ordinal that is missing on one side is 0 there, and What says so.
type FirstDifference struct {
	Sessions [2]uint64 `json:"sessions"`
	Ordinals [2]uint64 `json:"ordinals"`
	What     string    `json:"what"`
}

// Diff compares the requests of two traces, byte for byte. Sessions are paired
// by what they sent, whatever their ids, and must pair one to one. Times and
// replies are not compared. It reads its inputs once if they are equal and a
// few times if not, and remembers only the sessions that are live.
func Diff(a, b []string) (*Difference, error) {
	d := differ{paths: [2][]string{a, b}}
	for side := range d.paths {
		if err := onlyFiles(d.paths[side]); err != nil {
			return nil, err
		}
	}
	var sums [2]digest
	for side := range d.paths {
		err := d.streams(side, true, func(s *stream) {
			sums[side].add(s.sum)
		})
		if err != nil {
			return nil, err
		}
	}
	r := &d.result
	r.Equal = sums[0] == sums[1] && r.Sessions[0] == r.Sessions[1] && r.Events[0] == r.Events[1]
	if r.Equal {
		return r, nil
	}
	return r, d.locate()
}

// onlyFiles refuses what cannot be read twice.
func onlyFiles(paths []string) error {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: a comparison reads its inputs more than once: name files", p)
		}
	}
	return nil
}

// differ compares two traces.
type differ struct {
	paths  [2][]string
	result Difference
}

// Preflight is the application_name of the session in which a replay asks its
// target what it can do, before it replays anything. A recording of a replay
// has it, the recording that was replayed has not.
const Preflight = "retrace preflight"

// stream is what one session sent, in short.
type stream struct {
	exempt  bool
	session uint64
	start   int64
	user    string
	events  uint64
	sum     digest
}

// streams reads one side and calls fn for each session at its end. Sessions of
// which everything is exempt are left out.
func (d *differ) streams(side int, count bool, fn func(*stream)) error {
	r, err := Open(d.paths[side]...)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // was only read
	if err := refuseRuns(r); err != nil {
		return err
	}
	live := map[uint64]*stream{}
	end := func(s *stream) {
		delete(live, s.session)
		if s.events == 0 {
			return
		}
		if count {
			d.result.Sessions[side]++
		}
		fn(s)
	}
	var b Batch
	for {
		if err := r.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		for i := range b.States {
			openStream(live, &b.States[i])
		}
		for i := range b.Events {
			d.event(side, count, live, &b.Events[i], end)
		}
	}
	for _, s := range live {
		end(s)
	}
	d.result.Complete[side] = r.Complete()
	return nil
}

// openStream begins a session with whom it logged in as and where.
func openStream(live map[uint64]*stream, s *State) {
	if live[s.Session] == nil {
		live[s.Session] = &stream{
			session: s.Session, start: s.Start, user: s.User + "@" + s.Database,
			exempt: s.Settings["application_name"] == Preflight,
		}
	}
}

func (d *differ) event(side int, count bool, live map[uint64]*stream, e *Event, end func(*stream)) {
	s := live[e.Session]
	if s == nil {
		s = &stream{session: e.Session, start: e.Start, user: "@"}
		live[e.Session] = s
	}
	if s.exempt || exempt(e) {
		if count {
			d.result.Exempt[side]++
		}
	} else {
		if s.events == 0 {
			s.start = e.Start
			s.sum.extend([]byte(s.user))
		}
		s.events++
		s.sum.event(e)
		if count {
			d.result.Events[side]++
		}
	}
	if op := e.Entry.Op; op == OpEnd || op == OpCancel {
		end(s)
	}
}

// exempt tells whether an event is left out: a replay cannot send the same.
func exempt(e *Event) bool {
	if e.OverLimit || e.Entry.Op == OpCancel {
		return true
	}
	for _, n := range e.Sizes {
		if n == SizeRedacted {
			return true
		}
	}
	return false
}

func refuseRuns(r *Reader) error {
	for _, h := range r.Headers() {
		if h.IsRun() {
			return fmt.Errorf("trace %s is a run: it holds no requests; compare the trace it replayed, %s", h.Trace, h.Run.Source)
		}
	}
	return nil
}
