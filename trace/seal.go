package trace

import (
	"hash/crc32"
	"io"
)

// seal writes everything held, in an order that lets a reader go straight
// through: words before those who use them, states and late replies before the
// events that may rest on them. One Write, so that a reader of a growing file
// rarely sees half.
func (w *Writer) seal(mayRoll bool) error {
	w.buf, w.emitted = w.buf[:0], w.emitted[:0]
	number := w.seg.number
	w.gather()
	w.emitDictionary()
	w.emitRecords(kindState, &w.states)
	w.emitLate()
	w.emitRecords(kindGaps, &w.gaps)
	w.emitEvents()
	if len(w.buf) > 0 {
		if err := w.write(); err != nil {
			w.seg.number = number
			return w.fail(err)
		}
		w.sealed()
	}
	if mayRoll && !w.steady && (w.dict.full() || w.seg.index.count >= w.maxBlocks) {
		return w.roll()
	}
	if mayRoll {
		return w.checkpoint()
	}
	return nil
}

// gather builds the event columns and interns what they and the late replies
// name, so that the dictionary block can go first.
func (w *Writer) gather() {
	for i := range w.late {
		w.dict.reason(w.late[i].reason)
	}
	if len(w.open.rows) > 0 {
		w.open.sort()
		w.cols.gather(&w.open, w.dict)
	}
}

func (w *Writer) emitDictionary() {
	f := &w.dict.fresh
	if f.count == 0 {
		return
	}
	w.body.reset()
	f.encode(&w.body)
	w.emit(blockHeader{kind: kindDictionary, count: uint32(f.count), needs: uint32(len(w.dict.entries) - f.count)})
}

func (w *Writer) emitRecords(kind byte, l *recordLines) {
	if l.count == 0 {
		return
	}
	w.body.reset()
	w.body.bytes(colJSON, l.lines)
	w.emit(blockHeader{
		kind: kind, count: uint32(l.count), first: l.first, last: l.last, lanes: l.lanes,
		needs: uint32(len(w.dict.entries)),
	})
}

func (w *Writer) emitLate() {
	for late := w.late; len(late) > 0; {
		n := min(len(late), maxCount)
		w.lateCols.gatherLate(late[:n], w.dict)
		w.body.reset()
		w.lateCols.encodeOutcomes(&w.body, &w.o)
		w.emitColumns(kindReplies, &w.lateCols)
		late = late[n:]
	}
}

func (w *Writer) emitEvents() {
	if len(w.open.rows) == 0 {
		return
	}
	w.body.reset()
	w.cols.encodeEvents(&w.body, &w.o)
	w.emitColumns(kindEvents, &w.cols)
}

func (w *Writer) emitColumns(kind byte, c *columns) {
	w.emit(blockHeader{
		kind: kind, count: uint32(c.count), first: c.first * w.tick, last: c.last * w.tick,
		lanes: c.lanes, needs: uint32(len(w.dict.entries)),
	})
}

// emit appends a block whose body is assembled to the bytes of the next write.
func (w *Writer) emit(h blockHeader) {
	var head [headerSize]byte
	at := len(w.buf)
	w.buf = append(append(append(w.buf, head[:]...), w.body.dir...), w.body.data...)
	stored := w.buf[at+headerSize:]
	h.columns, h.stored = w.body.columns(), uint32(len(stored))
	h.tag, h.number = w.seg.tag, w.seg.number
	h.body = crc32.Checksum(stored, castagnoli)
	h.put(w.buf[at:])
	w.seg.number++
	w.emitted = append(w.emitted, placed{h, w.seg.length + int64(at)})
}

// write hands the assembled bytes to the io.Writer at once.
func (w *Writer) write() error {
	n, err := w.out.Write(w.buf)
	w.seg.length += int64(n)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	return err
}

// sealed books what was written and empties the block.
func (w *Writer) sealed() {
	for i := range w.emitted {
		w.seg.index.add(&w.emitted[i])
	}
	t := w.openTotals()
	if len(w.open.rows) > 0 {
		w.latest = max(w.latest, w.cols.last*w.tick)
	}
	w.total.add(t)
	w.seg.totals.add(t)
	w.dict.fresh.reset()
	w.states.reset()
	w.gaps.reset()
	w.gapTotals = Totals{}
	clear(w.late)
	w.late = w.late[:0]
	w.noted = nil
	w.emptyBlock(true)
}

// emptyBlock resets the open block and lets go of sessions that are over.
func (w *Writer) emptyBlock(written bool) {
	w.over = append(w.over[:0], w.open.active...)
	w.open.reset()
	for _, s := range w.over {
		s.known = s.known || written
		w.drop(s)
	}
	clear(w.over)
}

// openTotals counts what the next write holds.
func (w *Writer) openTotals() Totals {
	t := w.open.counted
	t.Sessions = w.open.newSessions()
	t.First, t.Last = w.open.first*w.tick, w.open.last*w.tick
	t.add(w.gapTotals)
	return t
}
