package trace

import (
	"errors"
	"io"
	"os"
)

// Summary is what Info says about a trace.
type Summary struct {
	Headers  []*Header
	Complete bool     // every segment was closed and nothing is damaged, as far as was read
	Damage   []Damage // what could not be read
	Totals
}

// Span is from the first request to the last reply, in seconds.
func (s *Summary) Span() float64 {
	if s.Events == 0 {
		return 0
	}
	return float64(s.Last-s.First) / 1e9
}

// BytesPerStatement is 0 where there is no statement.
func (s *Summary) BytesPerStatement() float64 {
	if s.Statements == 0 {
		return 0
	}
	return float64(s.Bytes) / float64(s.Statements)
}

// Info counts what traces hold. Where every segment has an index that is
// believed, and nothing else is read: what lies between may still be damaged,
// which Verify finds.
func Info(paths ...string) (*Summary, error) {
	r, err := Open(paths...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // was only read
	if s, ok := r.indexed(); ok {
		return s, nil
	}
	r.Options(ReadOptions{NoValues: true})
	return r.count()
}

// indexed sums the totals of the segments if each has an index and none before
// it is missing, since a session is counted where it begins.
func (r *Reader) indexed() (*Summary, bool) {
	s := &Summary{Headers: r.headers, Complete: true}
	for _, src := range r.sources {
		if src.in != nil {
			return nil, false // a pipe
		}
		for i, ref := range src.refs {
			if ref.index == 0 || ref.header.Segment != i {
				return nil, false
			}
			x, err := r.loadIndex(&ref)
			if err != nil {
				return nil, false
			}
			s.Totals.add(x.totals)
		}
	}
	var err error
	s.Bytes, err = r.sizeOfFiles()
	return s, err == nil
}

// sizeOfFiles counts each file once.
func (r *Reader) sizeOfFiles() (uint64, error) {
	sum, seen := uint64(0), map[string]bool{}
	for _, file := range r.files {
		if seen[file] {
			continue
		}
		seen[file] = true
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		sum += uint64(info.Size())
	}
	return sum, nil
}

// count reads a trace to its end and counts. A session is counted when it
// begins and forgotten when it ends, so that only live ones take memory.
func (r *Reader) count() (*Summary, error) {
	c := newCounter()
	var b Batch
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		c.take(&b)
	}
	s := &Summary{Headers: r.headers, Complete: r.Complete(), Damage: r.damage, Totals: c.totals}
	var err error
	if s.Bytes, err = r.sizeOfFiles(); err == nil {
		s.Bytes += r.piped
	}
	return s, err
}

// counter keeps the totals of what is read, and the starts of events that wait
// for their replies.
type counter struct {
	live   map[uint64]map[uint64]int64
	totals Totals
}

func newCounter() counter { return counter{live: map[uint64]map[uint64]int64{}} }

func (c *counter) take(b *Batch) {
	for i := range b.Events {
		c.event(&b.Events[i])
	}
	for i := range b.Late {
		l := &b.Late[i]
		if start, ok := c.live[l.Session][l.Ordinal]; ok {
			c.totals.Last = max(c.totals.Last, start+l.Took)
			delete(c.live[l.Session], l.Ordinal)
		}
	}
	for i := range b.Gaps {
		c.totals.gap(&b.Gaps[i])
	}
}

func (c *counter) event(e *Event) {
	t := Totals{Events: 1, First: e.Start, Last: e.Start}
	if e.RequestEnd {
		t.Requests = 1
	}
	op := e.Entry.Op
	if op.Statement() {
		t.Statements = 1
	}
	pending, known := c.live[e.Session]
	if !known {
		t.Sessions = 1
		c.live[e.Session] = nil
	}
	if e.HasReply {
		t.Last = e.End()
	} else {
		if pending == nil {
			pending = map[uint64]int64{}
			c.live[e.Session] = pending
		}
		pending[e.Ordinal] = e.Start
	}
	if (op == OpEnd || op == OpCancel) && len(pending) == 0 {
		delete(c.live, e.Session)
	}
	c.totals.add(t)
}
