package trace

import (
	"fmt"
)

// maxLost bounds the gaps kept while nothing can be written; further sessions
// are counted in one gap of session 0.
const maxLost = 65536

// lostEvents names events that were taken or offered and are not in the file.
type lostEvents struct {
	gaps      []Gap
	bySession map[uint64]int
}

func (l *lostEvents) add(session, ordinal uint64, start int64, why error) {
	if i, ok := l.bySession[session]; ok && l.gaps[i].Last+1 == ordinal {
		l.gaps[i].Last = ordinal
		return
	}
	if len(l.gaps) >= maxLost {
		l.overflow(start, why)
		return
	}
	if l.bySession == nil {
		l.bySession = map[uint64]int{}
	}
	l.bySession[session] = len(l.gaps)
	l.gaps = append(l.gaps, Gap{Session: session, First: ordinal, Last: ordinal, Start: start, Why: why.Error()})
}

// overflow counts an event in the gap of session 0, whose ordinals number the
// events it stands for.
func (l *lostEvents) overflow(start int64, why error) {
	if g := &l.gaps[len(l.gaps)-1]; g.Session == 0 && len(l.gaps) > maxLost {
		g.Last++
		return
	}
	l.gaps = append(l.gaps, Gap{First: 1, Last: 1, Start: start, Why: "more sessions than can be named: " + why.Error()})
}

func (l *lostEvents) reset() { *l = lostEvents{} }

// fail turns the open block into gaps. What else was held, late replies and
// gap records, is kept for the next segment.
func (w *Writer) fail(err error) error {
	w.failed = fmt.Errorf("write trace: %w", err)
	for _, s := range w.open.active {
		for i := s.head; i >= 0; i = w.open.rows[i].next {
			r := &w.open.rows[i]
			w.lost.add(s.id, r.ordinal, r.start*w.tick, w.failed)
		}
		s.forgetRows()
	}
	for i := range w.late {
		w.late[i].shape = 0 // of a dictionary that ends here
	}
	w.emptyBlock(false)
	return w.failed
}

// forgetRows drops the events that wait for a reply and are not in the file.
func (s *session) forgetRows() {
	kept := s.pending[:0]
	for _, p := range s.waiting() {
		if p.row < 0 {
			kept = append(kept, p)
		}
	}
	s.pending, s.answered = kept, 0
}

// Lost names the events that were handed to Event since the last Restart and
// are not in the file, because writing failed.
func (w *Writer) Lost() []Gap {
	if len(w.noted) == 0 {
		return w.lost.gaps
	}
	return append(w.noted[:len(w.noted):len(w.noted)], w.lost.gaps...)
}

// Restart tries to write again after a failure: it ends the segment that
// failed, opens one that continues it, and writes Lost into it as gaps. On an
// error nothing has changed and it may be called again. Without a failure it
// does nothing.
func (w *Writer) Restart() error {
	if w.failed == nil {
		return nil
	}
	was := w.failed
	w.failed = nil
	if err := w.restart(); err != nil {
		if w.failed == nil {
			w.failed = was
		}
		return err
	}
	return nil
}

func (w *Writer) restart() error {
	if w.seg.started {
		if err := w.closeSegment(); err != nil {
			return err
		}
		w.header.Segment++
		w.header.Continues = true
	}
	if err := w.openSegment(); err != nil {
		return err
	}
	for i := range w.lost.gaps {
		if err := w.addGap(&w.lost.gaps[i]); err != nil {
			return err
		}
	}
	w.noted = append(w.noted, w.lost.gaps...)
	w.lost.reset()
	return w.seal(false)
}
