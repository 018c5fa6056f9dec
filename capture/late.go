package capture

import (
	"encoding/binary"

	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

// answerLate writes the reply to an event that was written before.
func (e *encoder) answerLate(l *life, r *row) {
	s, ok := l.pending.take(r.ordinal)
	if !ok || e.broken != nil {
		return // the event itself is lost, and named in a gap
	}
	changed, err := e.corrected(l, r, s)
	if err == nil {
		fill(&e.answer, r.done, r)
		e.answer.Took = max(r.done-s.start, 0)
		err = e.w.Reply(l.id, r.ordinal, &e.answer, changed)
	}
	e.check(err)
}

// corrected is the dictionary entry of an event whose statement turned out to
// be another than its client had to believe, because an earlier request failed;
// 0 where the guess was right.
func (e *encoder) corrected(l *life, r *row, s sent) (uint32, error) {
	if r.prepare == s.guess || s.guess == pg.NoPrepare {
		return 0, nil
	}
	of, err := e.resolve(l, r.ordinal, r.prepare)
	if err != nil {
		return 0, err
	}
	id, err := e.intern(s.op, of, s.shape, nil)
	return id + 1, err
}

// cancelShape is two raw holes: the session a cancel request is meant for and
// the ordinal of what it ran, 8 bytes each, little endian.
var cancelShape = []byte{2, 2}

// cancel writes a session that is one cancel request.
func (e *encoder) cancel(l *life, r *row) {
	if e.aimsAtOmitted(r) {
		e.recorder.passed(whyOnly, 1, 1)
		return
	}
	if e.broken != nil {
		e.lose(l, r)
		return
	}
	id, err := e.w.Intern(trace.OpCancel, 0, cancelShape, func() (string, []uint32) { return "cancel", nil })
	if err != nil {
		e.check(err)
		return
	}
	values := binary.LittleEndian.AppendUint64(e.number[:0], r.size)
	values = binary.LittleEndian.AppendUint64(values, r.prepare)
	took := max(r.done-r.at, 0)
	e.check(e.w.Event(&trace.Event{
		Session: l.id, Start: r.at, Shape: id, RequestEnd: true,
		Sizes: []uint64{trace.SizeOf(8), trace.SizeOf(8)}, Values: values,
		HasReply: true, Reply: trace.Reply{Took: took, Tail: 0},
	}))
}
