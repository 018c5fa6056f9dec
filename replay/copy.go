package replay

import "github.com/retrace-db/retrace/trace"

// awaitCopyIn waits until the server takes COPY data or has refused them.
func (s *session) awaitCopyIn() {
	for s.dead == "" && !s.talk.CopyOpen() && s.answerable() != nil {
		s.read(0)
	}
}

// endCopy ends a COPY for which there are no data: it failed where it was
// recorded, or its data are not in the trace. A session must not be left
// waiting for them.
func (s *session) endCopy() {
	now := s.p.clock.Now()
	out := append([]byte(nil), copyFailMessage...)
	if f := s.pending(); f != nil && f.op != 'q' {
		out = append(out, syncMessage...) // the one sent before the data was ignored
		s.unsynced = false
	}
	s.tell(ownOrdinal, out, now)
	s.write(out)
}

// spoil ends a COPY some of whose data are not in the trace: it is skipped as a
// whole, whatever has been sent of it already.
func (s *session) spoil() {
	for i := range s.batch {
		b := &s.batch[i]
		if b.op != trace.OpCopy || b.flags&flagSkip == 0 || !s.talk.CopyOpen() {
			continue
		}
		if f := s.pending(); f != nil {
			f.spoiled = b.end
		}
		s.endCopy()
		return
	}
}
