package replay

import "github.com/retrace-db/retrace/trace"

// Reasons for skipping an event that could be sent.
const (
	reasonTransaction = "transaction_failed"
	reasonPrepare     = "prepare_failed"
	reasonUnknown     = "unknown_statement" // prepared before the trace
	reasonCopy        = "copy_refused"
)

// decide finds out which events of the request the server would refuse because
// of something that did not happen in the recording. These are skipped: to send
// them would measure how fast errors are.
func (s *session) decide() {
	s.spoil()
	skipping := s.talk.TransactionState() == 'E' && s.recordedState(s.batch[0].ordinal) != 'E'
	for i := range s.batch {
		b := &s.batch[i]
		switch {
		case b.flags&flagSkip != 0:
			b.skip = b.end.String()
		case b.op == trace.OpCopy:
			if !s.talk.CopyOpen() {
				b.skip = reasonCopy
			}
		case !skipping || s.harmless(b):
		case endsTransaction(b.entry.SQL()):
			// A Parse of COMMIT is accepted, and ends nothing.
			skipping = b.op == trace.OpPrepare
		default:
			b.skip = reasonTransaction
		}
	}
	if !s.prepared.complete() {
		s.decidePrepared()
	}
}

// harmless tells whether the server does what an event asks even in a failed
// transaction, and later events rely on it: Close, and a bare Sync or Flush.
func (s *session) harmless(b *staged) bool {
	if b.op == trace.OpClose {
		return true
	}
	bytes := s.bytesOf(b)
	return b.op == trace.OpSync && len(bytes) == messageHeader
}

// decidePrepared skips the request if it uses a statement that the target
// refused to prepare, and otherwise sees to those that were only not sent.
func (s *session) decidePrepared() {
	refused := false
	for i := range s.batch {
		b := &s.batch[i]
		if b.skip != "" {
			continue
		}
		bad, unknown, held := s.prepared.wants(s.bytesOf(b))
		refused = refused || bad
		if unknown && (b.flags&flagReplied == 0 || b.status == trace.OK) {
			b.skip = reasonUnknown
			continue
		}
		s.reprepare = append(s.reprepare, held...)
	}
	if !refused {
		return
	}
	for i := range s.batch {
		if b := &s.batch[i]; b.skip == "" && !s.harmless(b) {
			b.skip = reasonPrepare
		}
	}
}

// prelude sends the Parse messages that were held back and are wanted now.
func (s *session) prelude(now int64) []byte {
	if len(s.reprepare) == 0 {
		return nil
	}
	var out []byte
	for _, parse := range s.reprepare {
		from := len(out)
		out = append(append(out, parse...), syncMessage...)
		s.tell(ownOrdinal, out[from:], now)
	}
	s.p.account.preparedAgain(s.id, len(s.reprepare))
	s.reprepare = nil
	return out
}
