package trace

import (
	"errors"
	"fmt"
	"io"
)

// Report is what Verify found.
type Report struct {
	Summary
	Problems   []string // what the format forbids, the first hundred
	Unanswered uint64   // events without a reply
}

// OK tells whether the trace is whole and says nothing the format forbids.
func (r *Report) OK() bool { return r.Complete && len(r.Problems) == 0 }

const maxProblems = 100

func (r *Report) problem(format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// Verify reads all of a trace and checks it: checksums, what each event needs,
// ordinals against gaps, replies against events, indexes against blocks.
func Verify(paths ...string) (*Report, error) {
	r, err := Open(paths...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // was only read
	v := verifier{count: newCounter(), sessions: map[uint64]*verified{}, holes: newHoles()}
	for _, s := range r.sources {
		v.indexes(r, s)
	}
	if err := v.read(r); err != nil {
		return nil, err
	}
	v.report.Summary = Summary{Headers: r.headers, Complete: r.Complete(), Damage: r.damage, Totals: v.count.totals}
	if v.report.Bytes, err = r.sizeOfFiles(); err != nil {
		return nil, err
	}
	v.report.Bytes += r.piped
	v.finish()
	return &v.report, nil
}

// verifier follows the sessions that are live.
type verifier struct {
	count    counter
	report   Report
	sessions map[uint64]*verified
	holes    holes
}

type verified struct {
	begun   bool
	next    uint64
	pending map[uint64]bool
	ended   bool
}

func (v *verifier) read(r *Reader) error {
	var b Batch
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		v.count.take(&b)
		v.take(&b)
	}
}

func (v *verifier) take(b *Batch) {
	for i := range b.States {
		s := v.session(b.States[i].Session)
		if !s.begun {
			s.begun, s.next = true, b.States[i].Ordinal
		}
	}
	for i := range b.Gaps {
		v.holes.explain(&b.Gaps[i])
	}
	for i := range b.Late {
		v.late(&b.Late[i])
	}
	for i := range b.Events {
		v.event(&b.Events[i])
	}
}

func (v *verifier) session(id uint64) *verified {
	s := v.sessions[id]
	if s == nil {
		s = &verified{}
		v.sessions[id] = s
	}
	return s
}

func (v *verifier) event(e *Event) {
	s := v.session(e.Session)
	switch {
	case s.ended:
		v.report.problem("event %d of session %d comes after the session's end", e.Ordinal, e.Session)
	case e.Ordinal < s.next:
		v.report.problem("event %d of session %d comes after event %d", e.Ordinal, e.Session, s.next-1)
	case e.Ordinal > s.next:
		v.holes.pass(jump{e.Session, s.next, e.Ordinal - 1}, e.Start)
	}
	s.begun, s.next = true, e.Ordinal+1
	s.ended = e.Entry.Op == OpEnd || e.Entry.Op == OpCancel
	if !e.HasReply {
		if s.pending == nil {
			s.pending = map[uint64]bool{}
		}
		s.pending[e.Ordinal] = true
		return
	}
	v.drop(e.Session, s)
}

// drop forgets a session that is over.
func (v *verifier) drop(id uint64, s *verified) {
	if s.ended && len(s.pending) == 0 {
		delete(v.sessions, id)
		v.holes.forget(id)
	}
}

func (v *verifier) late(l *Late) {
	s := v.sessions[l.Session]
	if s == nil || !s.pending[l.Ordinal] {
		if len(v.report.Problems) < maxProblems {
			v.report.problem("late reply to event %d of session %d, which does not wait for one", l.Ordinal, l.Session)
		}
		return
	}
	delete(s.pending, l.Ordinal)
	v.drop(l.Session, s)
}

func (v *verifier) finish() {
	for _, s := range v.sessions {
		v.report.Unanswered += uint64(len(s.pending))
	}
	if len(v.report.Damage) > 0 {
		return // what is missing is known
	}
	if v.holes.blind {
		return
	}
	for j := range v.holes.open {
		v.report.problem("events %d to %d of session %d are missing and no gap says so", j.first, j.last, j.session)
	}
}

// indexes compares the indexes of a chain with the blocks that are there.
func (v *verifier) indexes(r *Reader, s *source) {
	for _, ref := range s.refs {
		if ref.index == 0 {
			continue
		}
		x, err := r.loadIndex(&ref)
		if err == nil {
			err = x.compare(ref)
		}
		if err != nil {
			v.report.problem("%v", err)
		}
	}
}

// compare walks the headers of a segment beside its index.
func (x *loadedIndex) compare(ref segmentRef) error {
	f, closeFile, err := openInput(ref.file)
	if err != nil {
		return err
	}
	defer closeFile()
	w := newWalker(f, ref.file, ref.at, ref.index, func(Damage) {})
	for i := -1; ; {
		h, at, err := w.next()
		if errors.Is(err, io.EOF) {
			if i+1 != len(x.blocks) {
				return fmt.Errorf("%s: index at byte %d lists %d blocks, there are %d", ref.file, ref.index, len(x.blocks), i+1)
			}
			return nil
		}
		if err != nil {
			return err
		}
		w.trust()
		if h.kind == kindStart {
			continue
		}
		i++
		if i >= len(x.blocks) || x.blocks[i].offset != at-ref.at || x.blocks[i].kind != h.kind || x.blocks[i].count != h.count {
			return fmt.Errorf("%s: index at byte %d does not list the block at byte %d as it is", ref.file, ref.index, at)
		}
	}
}
