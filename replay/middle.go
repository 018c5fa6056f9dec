package replay

import (
	"encoding/binary"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
	"github.com/retrace-db/retrace/trace"
)

// What it takes to replay a session from the middle: a recording that was
// switched on or cut while the session was open. It is brought to the state that
// it had; a transaction that was under way has no beginning here, and is left out.

// messages are what brings a session to a recorded state: its SET statements, and
// its prepared statements, which it may have under these names already.
func (sel *selection) messages(state *trace.State, again bool) []byte {
	var out []byte
	for _, set := range state.Sets {
		out = sel.appendSet(out, set)
	}
	for i := range state.Statements {
		p := &state.Statements[i]
		if again && len(p.Message) > 0 && p.Message[0] == 'P' {
			out = append(out, closeMessage(p.Name)...)
		}
		out = append(append(out, p.Message...), syncMessage...)
	}
	return out
}

func (sel *selection) appendSet(out, set []byte) []byte {
	if sel.readOnly && sqltext.AccessOf(set) == sqltext.Writes {
		return out
	}
	out = binary.BigEndian.AppendUint32(append(out, 'Q'), uint32(len(set)+5))
	return append(append(out, set...), 0)
}

func closeMessage(name []byte) []byte {
	m := binary.BigEndian.AppendUint32([]byte{'C'}, uint32(len(name)+6))
	return append(append(append(m, 'S'), name...), 0)
}

// begins takes what the state says of a transaction under way.
func (s *session) begins() {
	if s.state == nil {
		return
	}
	s.follow(s.state)
	s.prepared.partial = s.state.Omitted > 0
	for i := range s.state.Statements {
		s.prepared.learn(s.state.Statements[i].Name)
	}
	s.lastRead = max(s.state.Ordinal, 1) - 1
}

func (s *session) follow(state *trace.State) {
	s.cut = state.Transaction == "open" || state.Transaction == "failed"
	s.sets = state.Uncommitted
}

// beginsUnknown takes what the first event says of a session without a state.
func (s *session) beginsUnknown(e *trace.Event) {
	s.prepared.partial = true
	first, _ := keyword(e.Entry.SQL())
	switch first {
	case "BEGIN", "START":
	case "COMMIT", "END", "ROLLBACK", "ABORT":
		s.cut = true
	default:
		s.cut = e.HasReply && (e.State == 'T' || e.State == 'E')
	}
}

// endless marks an event of a transaction that has no beginning here.
func (s *session) endless(e *trace.Event, r *record) {
	op := e.Entry.Op
	if !s.cut || op == trace.OpConnect || op == trace.OpEnd {
		return
	}
	if r.flags&flagSkip == 0 {
		r.flags, r.end = r.flags|flagSkip, skipPartial
	}
	sql := sqlOf(r.bytes)
	switch first, _ := keyword(string(sql)); first {
	case "SET", "RESET":
		if len(s.sets) < maxSets && (!e.HasReply || e.Status == trace.OK) {
			s.sets = append(s.sets[:len(s.sets):len(s.sets)], append([]byte(nil), sql...))
		}
	case "ROLLBACK", "ABORT":
		s.sets = nil
	}
}

// maxSets bounds the SET statements kept of a transaction that is left out.
const maxSets = 256

// resumes tells whether the transaction that is left out ended with a reply: its
// settings are in force from then on.
func (src *source) resumes(s *session, r *record, unanswered int) error {
	if !s.cut || r.state != 'I' || unanswered > 0 {
		return nil
	}
	s.cut = false
	var out []byte
	if r.status == trace.OK {
		for _, set := range s.sets {
			out = src.selection.appendSet(out, set)
		}
	}
	s.sets = nil
	return src.restore(s, out)
}

// jumped brings a session to the state that it had when the recording went on
// after a while in which it was switched off.
func (src *source) jumped(s *session, state *trace.State) error {
	if state.Ordinal <= s.lastRead+1 {
		return nil // repeated where a segment begins
	}
	s.follow(state)
	s.lastRead = state.Ordinal - 1
	return src.restore(s, src.selection.messages(state, true))
}

func (src *source) restore(s *session, messages []byte) error {
	if len(messages) == 0 {
		return nil
	}
	return src.push(s, &record{kind: kindRestore, bytes: messages}, moment{})
}

// restored sends what brings the session to a recorded state, outside of any
// transaction.
func (s *session) restored(messages []byte) {
	s.ensure()
	s.landed()
	if s.dead != "" || s.p.phase() != running {
		return
	}
	if s.unsynced {
		s.unsynced, s.unflushed = false, noOrdinal
		s.own(syncMessage)
	}
	if state := s.talk.TransactionState(); state == 'T' || state == 'E' {
		s.own(rollbackMessage)
	}
	s.own(messages)
}

var rollbackMessage = []byte("Q\x00\x00\x00\x0dROLLBACK\x00")

// own sends messages of replay's own, one after the other as the server answers.
// What is prepared by them counts as refused until the server has accepted it.
func (s *session) own(messages []byte) {
	from := messages
	for s.dead == "" && len(from) > 0 {
		kind, body, rest, ok := nextMessage(messages)
		if !ok {
			return
		}
		messages = rest
		if kind == 'P' {
			name, _ := word(body)
			s.prepared.refuse(name)
		}
		if kind != 'Q' && kind != 'S' {
			continue
		}
		now := s.p.clock.Now()
		out := from[:len(from)-len(rest)]
		from = rest
		s.tell(ownOrdinal, out, now)
		s.write(out)
		s.drain()
	}
}

// drain reads until nothing is outstanding.
func (s *session) drain() {
	for s.dead == "" && s.talk.Pending() > 0 {
		s.read(0)
	}
}
