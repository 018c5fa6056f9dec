package replay

// maxWaits bounds the events of a session whose recorded reply is not known. A
// trace that lost replies to damage would grow the list for ever; beyond this
// the oldest is taken as answered.
const maxWaits = 65536

// waits finds out which replies a session's recorded client already had when it
// sent an event. The reader keeps one per live session.
type waits struct {
	settled uint64 // events with a smaller ordinal had been answered
	end     int64  // when the last of these replies was complete
	sent    []awaited
	first   int // sent[:first] are done with
}

// awaited is an event that was sent and perhaps not answered yet.
type awaited struct {
	ordinal uint64
	start   int64
	end     int64
	known   bool
}

// before tells which events had been answered at the time start: all whose
// ordinal is smaller than what it returns. Replies come in order, so that an
// unanswered event holds back those after it.
func (w *waits) before(start int64) uint64 {
	for w.first < len(w.sent) {
		a := &w.sent[w.first]
		if !a.known || a.end > start {
			break
		}
		w.drop()
	}
	return w.settled
}

func (w *waits) drop() {
	w.settled = w.sent[w.first].ordinal + 1
	if w.sent[w.first].known {
		w.end = max(w.end, w.sent[w.first].end)
	}
	w.first++
	switch {
	case w.first == len(w.sent):
		w.sent, w.first = w.sent[:0], 0
	case w.first >= 64 && 2*w.first >= len(w.sent):
		n := copy(w.sent, w.sent[w.first:])
		w.sent, w.first = w.sent[:n], 0
	}
}

// add notes an event. Its end is known if its reply is.
func (w *waits) add(a awaited) {
	if len(w.sent)-w.first >= maxWaits {
		w.drop()
	}
	w.sent = append(w.sent, a)
}

// answered notes a reply that came later, and returns when.
func (w *waits) answered(ordinal uint64, took int64) (end int64) {
	for i := w.first; i < len(w.sent); i++ {
		if a := &w.sent[i]; a.ordinal == ordinal {
			a.end, a.known = a.start+took, true
			return a.end
		}
	}
	return 0
}
