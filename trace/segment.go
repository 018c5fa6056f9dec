package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"time"
)

// maxIndex is how many blocks a segment may have: the writer keeps their index
// entries, and must not grow with the trace.
const maxIndex = 16384

// segment is what the writer keeps of the segment it writes.
type segment struct {
	begin   int64 // offset in the output
	length  int64
	tag     uint32
	number  uint32 // of the next block
	started bool   // the start block is out
	closed  bool   // the index is out
	start   []byte // body of the start block
	index   index
	totals  Totals

	checkpoint int64 // length from which on the next one is due
}

// segmentTag ties blocks to their segment. It follows from the trace's id, so
// that the same input makes the same bytes.
func segmentTag(trace string, segment int) uint32 {
	sum := sha256.Sum256([]byte(trace + "/" + strconv.Itoa(segment)))
	return binary.LittleEndian.Uint32(sum[:])
}

// openSegment begins a segment: a fresh dictionary, the start block, and the
// states of the live sessions.
func (w *Writer) openSegment() error {
	if w.next != nil {
		out, err := w.next()
		if err != nil {
			w.seg = segment{begin: w.seg.begin + w.seg.length}
			return w.fail(err)
		}
		w.out, w.next = out, nil
	}
	w.dict = newDictionary()
	w.generation++
	w.seg = segment{begin: w.seg.begin + w.seg.length, tag: segmentTag(w.header.Trace, w.header.Segment)}
	h := w.header
	if h.Started == "" || h.Segment > 0 {
		h.Started = time.Unix(0, w.o.Now()).UTC().Format(time.RFC3339Nano)
	}
	started, err := time.Parse(time.RFC3339Nano, h.Started)
	if err != nil {
		return fmt.Errorf("start block: started: %w", err)
	}
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("start block: %w", err)
	}
	if len(b) >= maxStart {
		return fmt.Errorf("start block takes %d bytes, over %d: shorten its settings", len(b), maxStart)
	}
	w.buf, w.emitted = w.buf[:0], w.emitted[:0]
	w.seg.start = append(b, '\n')
	w.emitPlain(blockHeader{kind: kindStart, count: 1, first: started.UnixNano(), last: started.UnixNano()}, w.seg.start)
	if err := w.write(); err != nil {
		return w.fail(err)
	}
	w.seg.started = true
	w.header.PausedFrom = "" // of one segment
	return w.writeStates(kindState)
}

// emitPlain appends a block without columns.
func (w *Writer) emitPlain(h blockHeader, body []byte) {
	w.body.reset()
	w.body.data = append(w.body.data, body...)
	w.emit(h)
}

// writeStates writes the states of the live sessions.
func (w *Writer) writeStates(kind byte) error {
	if w.o.States == nil {
		return nil
	}
	before := w.seg.length
	w.states.reset()
	for _, s := range w.o.States() {
		if live := w.sessions[s.Session]; live != nil && live.begun {
			s.Ordinal = live.ordinal + 1
		}
		if err := w.addState(&s); err != nil {
			return err
		}
		if w.states.full() {
			if err := w.sealStates(kind); err != nil {
				return err
			}
		}
	}
	err := w.sealStates(kind)
	w.planCheckpoint(w.seg.length - before)
	return err
}

// sealStates writes the states held, and nothing else.
func (w *Writer) sealStates(kind byte) error {
	w.buf, w.emitted = w.buf[:0], w.emitted[:0]
	if kind == kindCheckpoint {
		w.states.first, w.states.last = w.latest, w.latest
	}
	w.emitRecords(kind, &w.states)
	if len(w.buf) == 0 {
		return nil
	}
	if err := w.write(); err != nil {
		w.seg.number--
		return w.fail(err)
	}
	w.seg.index.add(&w.emitted[0])
	w.states.reset()
	return nil
}

// closeSegment writes the index.
func (w *Writer) closeSegment() error {
	if w.seg.closed {
		return nil
	}
	w.buf, w.emitted = w.buf[:0], w.emitted[:0]
	w.body.reset()
	w.seg.totals.Bytes = uint64(w.seg.length)
	if err := w.seg.index.encode(&w.body, w.seg.totals, w.seg.start); err != nil {
		return err
	}
	t := w.seg.totals
	h := blockHeader{
		kind: kindIndex, count: uint32(w.seg.index.count), first: t.First, last: t.Last,
		lanes: w.seg.index.lanes, needs: uint32(len(w.dict.entries)),
	}
	w.emit(h)
	w.sealTrailer()
	if err := w.write(); err != nil {
		w.seg.number--
		return w.fail(err)
	}
	w.seg.closed = true
	return nil
}

// sealTrailer ends the index block with the lengths of the segment and of the
// block's body, so that one can hop backwards from the end of a file.
func (w *Writer) sealTrailer() {
	body := uint64(len(w.buf) - headerSize + trailerSize)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(w.seg.length)+headerSize+body)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, body)
	w.buf = append(w.buf, trailerMark...)
	h := w.emitted[0].blockHeader
	stored := w.buf[headerSize:]
	h.stored, h.body = uint32(len(stored)), crc32.Checksum(stored, castagnoli)
	h.put(w.buf)
}

// NewSegment writes what is held, ends the segment and begins the next one, whose
// start block change may amend. If writing fails it is the one that Restart begins.
func (w *Writer) NewSegment(change func(*Header)) error {
	if w.failed == nil {
		_ = w.seal(false) // kept in failed
	}
	change(&w.header)
	if w.failed != nil {
		return w.failed
	}
	return w.roll()
}

// Rotate is NewSegment in another file: next closes the one that has been written
// and opens it. If that fails, Restart calls it again.
func (w *Writer) Rotate(next func() (io.Writer, error)) error {
	if w.failed == nil {
		_ = w.seal(false) // kept in failed
	}
	if w.failed != nil {
		return w.failed
	}
	if err := w.closeSegment(); err != nil {
		return err
	}
	w.header.Segment++
	w.header.Continues = true
	w.next = next
	return w.openSegment()
}

// roll ends the segment and begins the next one.
func (w *Writer) roll() error {
	if err := w.closeSegment(); err != nil {
		return err
	}
	w.header.Segment++
	w.header.Continues = true
	return w.openSegment()
}
