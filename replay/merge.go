package replay

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// maxMerged bounds what a merge holds back. Only a trace whose blocks jump about in
// time gets there; what is held then goes on in the order known so far.
const maxMerged = 1 << 18

// merge puts the records of all sessions into the order in which they were
// recorded, for the paces that go by it: blocks stand session by session. It
// holds what it gets until nothing earlier can follow.
type merge struct {
	rounds bool // in turns, since the trace's times mean nothing
	now    int64

	held  []held
	bytes []byte // of the held records
	spare []byte
}

// held is a record on its way to its session.
type held struct {
	moment
	at       int64 // what it is ordered by, no less than what its session had before
	s        *session
	from, to int // in merge.bytes; nothing where the session is read to its end
	epoch    uint32
}

// add takes a record, or the end of a session where there are no bytes.
func (m *merge) add(s *session, at moment, record []byte, epoch uint32) {
	switch {
	case !m.rounds:
		s.order = max(s.order, at.start)
	case at.first:
		s.order = max(s.order+1, m.now)
	}
	from := len(m.bytes)
	m.bytes = append(m.bytes, record...)
	m.held = append(m.held, held{moment: at, at: s.order, s: s, from: from, to: len(m.bytes), epoch: epoch})
}

// pass hands on what was recorded before a time, since nothing earlier follows.
func (m *merge) pass(before int64, deliver func(h *held, record []byte) error) error {
	if m.rounds || len(m.held) > maxMerged {
		before = math.MaxInt64
	}
	slices.SortStableFunc(m.held, func(a, b held) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for ; n < len(m.held) && (m.held[n].at < before || before == math.MaxInt64); n++ {
		h := &m.held[n]
		m.now = max(m.now, h.at)
		if err := deliver(h, m.bytes[h.from:h.to]); err != nil {
			return err
		}
	}
	m.drop(n)
	return nil
}

// drop forgets the first n.
func (m *merge) drop(n int) {
	kept := m.spare[:0]
	for i := range m.held[n:] {
		h := &m.held[n+i]
		from := len(kept)
		kept = append(kept, m.bytes[h.from:h.to]...)
		h.from, h.to = from, len(kept)
	}
	m.bytes, m.spare = kept, m.bytes
	left := copy(m.held, m.held[n:])
	clear(m.held[left:])
	m.held = m.held[:left]
}

// oldestEpoch is the first epoch of entries that a held record refers to.
func (m *merge) oldestEpoch(newest uint32) uint32 {
	for i := range m.held {
		newest = min(newest, m.held[i].epoch)
	}
	return newest
}

// stampRecord writes the pace's stamp into an encoded record.
func stampRecord(record []byte, when int64) {
	binary.LittleEndian.PutUint64(record[whenAt:], uint64(when))
}
