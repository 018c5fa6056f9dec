package trace

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

// defaultBlock is how many raw bytes of events make a block: larger ones
// hardly compress better, smaller ones lose.
const defaultBlock = 512 << 10

const maxBlock = 4 << 20

// eventOverhead is what an event counts for besides its bytes.
const eventOverhead = 16

// maxEventBytes bounds shape and values of one event, far below what a block
// can hold. Recorders keep less (see Event.OverLimit).
const maxEventBytes = 16 << 20

// WriterOptions say what a Writer keeps.
type WriterOptions struct {
	Due        bool // events carry when they were due
	Diverged   bool // events carry how they differ from the recorded ones
	Checksums  bool // replies carry the checksum of their result
	NoValues   bool // a run: neither shapes nor values
	BlockBytes int  // raw bytes of events that seal a block, up to 4 MiB; 0 means 512 KiB

	// States lists the live sessions. It is called when a segment opens and now
	// and then inside it: within NewWriter, Event, State, Gap, Flush and Restart,
	// after an event was taken; a session whose end was taken is not live.
	// Ordinals the writer knows better it corrects.
	States func() []State
	Now    func() int64 // ns since the Unix epoch; nil means the wall clock
}

// Writer writes a trace. One goroutine at a time may use it. It holds one
// block of events and a few words per live session, whatever the length of
// the trace.
type Writer struct {
	out    io.Writer
	header Header
	o      WriterOptions
	tick   int64
	limit  int

	maxBlocks int   // of a segment
	steady    bool  // only NewSegment begins a segment
	every     int64 // bytes between checkpoints, at least

	next func() (io.Writer, error) // where the next segment goes, if not to out

	dict       *dictionary
	generation int
	sessions   map[uint64]*session
	recent     *session

	open      openBlock
	late      []lateReply
	states    recordLines
	gaps      recordLines
	gapTotals Totals

	seg    segment
	total  Totals // in blocks that were written
	latest int64  // start of an event in them

	// Scratch of one seal.
	body           body
	cols, lateCols columns
	buf            []byte
	emitted        []placed
	over           []*session

	failed error // writing failed; only Restart helps
	lost   lostEvents
	noted  []Gap // lost before, in gaps but not yet written
}

// NewWriter writes the start block of a trace to w.
func NewWriter(w io.Writer, h Header, o WriterOptions) (*Writer, error) {
	z, err := newPacker()
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	if o.BlockBytes <= 0 {
		o.BlockBytes = defaultBlock
	}
	complete(&h, o)
	if err := h.check(); err != nil {
		return nil, err
	}
	t := &Writer{
		out: w, header: h, o: o, tick: h.TickNS, limit: min(o.BlockBytes, maxBlock), maxBlocks: maxIndex, every: checkpointEvery,
		sessions: map[uint64]*session{}, body: body{z: z},
	}
	if err := t.openSegment(); err != nil {
		return nil, err
	}
	return t, nil
}

// complete fills in what the caller left open.
func complete(h *Header, o WriterOptions) {
	h.Retrace = Version
	if h.TickNS == 0 {
		h.TickNS = DefaultTick
	}
	if h.Trace == "" {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		h.Trace = hex.EncodeToString(id[:])
	}
	if h.Timing == "" {
		h.Timing = TimingOriginal
	}
	h.Columns = columnNames(o)
}

var errNoEntry = errors.New("shape is not in this segment's dictionary: intern it again after Generation has grown")

// Intern gives the dictionary id of a shape. prepare is the id+1 of the entry
// that prepared what it executes, 0 for none. describe is called only for a
// shape that is new. An id is good until Generation grows.
func (w *Writer) Intern(op Op, prepare uint32, shape []byte, describe func() (text string, types []uint32)) (uint32, error) {
	if w.failed != nil {
		return 0, nil // Event will refuse, and name what is lost
	}
	if id, ok := w.dict.lookup(spaceShape, op, prepare, shape); ok {
		return id, nil
	}
	var text string
	var types []uint32
	if describe != nil {
		text, types = describe()
	}
	w.dict.lookup(spaceShape, op, prepare, shape) // describe may have interned something itself
	if w.o.NoValues {
		shape = nil
	}
	id, err := w.dict.add(op, prepare, types, shape, text)
	if err != nil {
		return 0, fmt.Errorf("intern shape: %w", err)
	}
	return id, nil
}

// InternEntry gives the id of an entry of another trace: text, types and what
// it executes are kept, and the shape unless this is a run.
func (w *Writer) InternEntry(e *Entry) (uint32, error) {
	if w.failed != nil {
		return 0, nil
	}
	if id, ok := w.dict.pointers[e]; ok {
		return id, nil
	}
	var prepare uint32
	if e.Prepare != nil && e.Prepare != e {
		id, err := w.InternEntry(e.Prepare)
		if err != nil {
			return 0, err
		}
		prepare = id + 1
	}
	id, err := w.dict.take(e, prepare, w.o.NoValues)
	if err != nil {
		return 0, fmt.Errorf("intern entry: %w", err)
	}
	return id, nil
}

// Event takes an event; its reply may follow. Events of a session come with
// rising ordinals. After a failed write the event is among Lost, and so is
// every further one until Restart.
func (w *Writer) Event(e *Event) error {
	if w.failed != nil {
		w.lost.add(e.Session, e.Ordinal, e.Start, w.failed)
		return w.failed
	}
	if uint64(e.Shape) >= uint64(len(w.dict.entries)) {
		return fmt.Errorf("event %d of session %d: %w", e.Ordinal, e.Session, errNoEntry)
	}
	meta := &w.dict.entries[e.Shape]
	s := w.session(e.Session)
	if s.begun && e.Ordinal <= s.ordinal {
		return fmt.Errorf("event %d of session %d comes after event %d", e.Ordinal, e.Session, s.ordinal)
	}
	if err := checkValues(e, meta, w.o.NoValues); err != nil {
		return err
	}
	w.place(s, e, meta)
	if w.full() {
		return w.seal(true)
	}
	return nil
}

// full tells whether the block should be written.
func (w *Writer) full() bool {
	return w.open.raw+len(w.late)*eventOverhead+w.dict.fresh.size() >= w.limit ||
		len(w.open.rows) >= maxCount || len(w.late) >= maxCount
}

// place appends the row of an event that was checked.
func (w *Writer) place(s *session, e *Event, meta *entryMeta) {
	start := s.begin(e.Start, w.tick)
	s.ordinal = e.Ordinal
	s.ended = meta.op == OpEnd || meta.op == OpCancel
	r := w.open.add(s, e, start, w.o.NoValues)
	r.ordinal, r.shape, r.op, r.flags = e.Ordinal, e.Shape, meta.op, flagsOf(e)
	r.outcome, r.diverged, r.due = outcome{took: -1}, byte(e.Diverged), 0
	if e.HasDue {
		r.due = 1 + zigzag(floorDiv(e.Start-e.Due, w.tick))
	}
	w.open.raw += meta.raw
	p := pending{ordinal: e.Ordinal, startNS: e.Start, start: start, row: s.tail, holes: int32(meta.holes)}
	if e.HasReply {
		w.fill(&r.outcome, s, &p, &e.Reply)
	} else {
		s.wait(p)
	}
	w.open.count(r)
}

// fill takes the measurements of a reply.
func (w *Writer) fill(o *outcome, s *session, p *pending, r *Reply) {
	o.took = s.finish(p, r.Took, w.tick)
	o.tail = min(max(r.Tail, 0)/w.tick, o.took)
	o.rows, o.bytes, o.results, o.checksum = r.Rows, r.Bytes, r.Results, r.Checksum
	o.status, o.state, o.reason = r.Status, r.State, r.Reason
	w.open.last = max(w.open.last, p.start+o.took)
}

// Reply gives the reply of an event taken before, in the open block or an
// earlier one. shape is the id+1 of the entry the server's order of events
// makes it, 0 if that is what Event said. Replies of events the file does not
// hold are passed over.
func (w *Writer) Reply(session, ordinal uint64, r *Reply, shape uint32) error {
	s := w.lookup(session)
	if s == nil {
		return nil
	}
	p, ok := s.answer(ordinal)
	if !ok {
		return nil
	}
	if shape != 0 && !w.holes(shape-1, int(p.holes)) {
		return fmt.Errorf("reply to event %d of session %d: its new shape needs other values", ordinal, session)
	}
	if p.row >= 0 {
		row := &w.open.rows[p.row]
		w.fill(&row.outcome, s, &p, r)
		if shape != 0 {
			row.shape = shape - 1
		}
		return nil
	}
	l := lateReply{session: session, ordinal: ordinal, start: p.start, shape: shape}
	w.fill(&l.outcome, s, &p, r)
	w.late = append(w.late, l)
	w.drop(s)
	return nil
}

func (w *Writer) holes(id uint32, n int) bool {
	return uint64(id) < uint64(len(w.dict.entries)) && w.dict.entries[id].holes == n
}

func (w *Writer) lookup(id uint64) *session {
	if w.recent != nil && w.recent.id == id {
		return w.recent
	}
	s := w.sessions[id]
	if s != nil {
		w.recent = s
	}
	return s
}

func (w *Writer) session(id uint64) *session {
	s := w.lookup(id)
	if s == nil {
		s = &session{id: id, head: -1, tail: -1}
		w.sessions[id], w.recent = s, s
	}
	return s
}

// EndSession forgets a session, with the replies it still waits for. An OpEnd
// or OpCancel event that has its reply does the same by itself.
func (w *Writer) EndSession(id uint64) {
	if s := w.sessions[id]; s != nil {
		s.ended, s.pending, s.answered = true, nil, 0
		w.drop(s)
	}
}

// drop forgets a session that is over once no row of it is in the open block.
func (w *Writer) drop(s *session) {
	if !s.ended || s.head >= 0 || len(s.waiting()) > 0 {
		return
	}
	delete(w.sessions, s.id)
	if w.recent == s {
		w.recent = nil
	}
}

// Generation grows when a new segment opens: dictionary ids from before are void.
func (w *Writer) Generation() int { return w.generation }

// Totals counts what was taken so far, the open block included.
func (w *Writer) Totals() Totals {
	t := w.total
	t.add(w.openTotals())
	t.Bytes = uint64(w.seg.begin + w.seg.length)
	return t
}

// Written is how many bytes were.
func (w *Writer) Written() int64 { return w.seg.begin + w.seg.length }

// Flush writes what is held. A recorder calls it each second.
func (w *Writer) Flush() error {
	if w.failed != nil {
		return w.failed
	}
	return w.seal(true)
}

// Close writes what is held and the index. It does not close the io.Writer.
func (w *Writer) Close() error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.seal(false); err != nil {
		return err
	}
	return w.closeSegment()
}
