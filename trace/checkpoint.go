package trace

// A checkpoint repeats the states of the live sessions inside a segment, so that
// whoever wants a window of a long trace need not follow its sessions from the
// segment's start. It costs a hundredth of the bytes at most.
const (
	checkpointEvery = 1 << 20
	checkpointShare = 100
)

// checkpoint writes one if it is time to.
func (w *Writer) checkpoint() error {
	if w.o.States == nil || w.seg.length < w.seg.checkpoint {
		return nil
	}
	return w.writeStates(kindCheckpoint)
}

// planCheckpoint says when the next one is due after states that took n bytes.
func (w *Writer) planCheckpoint(n int64) {
	w.seg.checkpoint = w.seg.length + max(w.every, checkpointShare*n)
}
