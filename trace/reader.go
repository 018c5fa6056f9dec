package trace

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"
)

// Late is the reply of an event that came in an earlier block without it.
type Late struct {
	Session, Ordinal uint64
	Reply
	Entry *Entry // what the event turned out to be; nil if that did not change
}

// Batch is what one block holds: exactly one of the slices has elements. They
// are valid until the next call of Next with any Batch; entries stay valid.
type Batch struct {
	Header *Header // of the segment
	Events []Event // session by session
	Late   []Late
	Gaps   []Gap
	States []State

	sizes []uint64
}

func (b *Batch) reset() {
	b.Header = nil
	b.Events, b.Late, b.Gaps, b.States = b.Events[:0], b.Late[:0], b.Gaps[:0], b.States[:0]
}

func (b *Batch) size() int { return len(b.Events) + len(b.Late) + len(b.Gaps) + len(b.States) }

// Reader reads any number of traces as one, block by block in the order of
// their times. It holds the dictionaries of the segments that are open and one
// block.
type Reader struct {
	sources []*source
	headers []*Header
	files   []string
	piped   uint64 // bytes read from pipes that have ended
	damage  []Damage
	torn    bool
	started bool
	ended   bool
	err     error
	dec     decoder
	body    []byte

	window   *window // nil: everything
	follower Follower
	lists    []listed
	open     func(path string) (readFile, error)

	missed Totals

	first    int64 // of the first events
	hasFirst bool
}

// First is when the first event began, or was due in a run with a schedule: of
// those in the first block that has some, which are read before the first of
// them is passed on.
func (r *Reader) First() (ns int64, ok bool) { return r.first, r.hasFirst }

func (r *Reader) notice(events []Event) {
	if r.hasFirst {
		return
	}
	for i := range events {
		at := events[i].Start
		if events[i].HasDue {
			at = min(at, events[i].Due)
		}
		if i == 0 || at < r.first {
			r.first, r.hasFirst = at, true
		}
	}
}

// NewReader reads a trace from a pipe or anything else that is read once.
func NewReader(in io.Reader, name string) *Reader {
	r := newReader()
	r.sources = append(r.sources, r.pipeSource(in, name))
	return r
}

func newReader() *Reader {
	r := &Reader{open: func(path string) (readFile, error) { return os.Open(path) }}
	r.dec.z, r.err = newUnpacker()
	return r
}

// Header is that of the first segment; nil if the input is no trace, and Next
// says why.
func (r *Reader) Header() *Header {
	if len(r.headers) == 0 {
		r.start()
	}
	if len(r.headers) == 0 {
		return nil
	}
	return r.headers[0]
}

// Headers are those of all segments known so far: of files all, of a pipe what
// has been read.
func (r *Reader) Headers() []*Header {
	r.Header()
	return r.headers
}

// Damage lists what could not be read so far.
func (r *Reader) Damage() []Damage { return r.damage }

// Complete tells, once Next has returned io.EOF, whether everything that was
// written was read: no damage, and every segment closed.
func (r *Reader) Complete() bool { return r.ended && !r.torn && len(r.damage) == 0 }

// Gaps says how many gaps were read so far, and how many lost events they name.
func (r *Reader) Gaps() (gaps, events uint64) { return r.missed.Gaps, r.missed.Missing }

// LeftOut is how many events were left out on purpose, as far as was read.
func (r *Reader) LeftOut() uint64 { return r.missed.LeftOut }

func (r *Reader) countGaps(gaps []Gap) {
	for i := range gaps {
		r.missed.gap(&gaps[i])
	}
}

// Close lets go of files. A Reader that was read to its end needs no Close.
func (r *Reader) Close() error {
	for _, s := range r.sources {
		s.closeFile()
	}
	r.sources = nil
	if r.err == nil {
		r.err = errors.New("reader is closed")
	}
	r.dec.z.close()
	return nil
}

// Next reads the next block into b; io.EOF at the end. Damage is passed over
// and listed in Damage; an error is for what cannot be read at all.
func (r *Reader) Next(b *Batch) error {
	b.reset()
	r.start()
	for r.err == nil {
		s := r.earliest()
		if s == nil {
			r.ended, r.err = true, io.EOF
			break
		}
		if s.deliver(b) {
			r.notice(b.Events)
			return nil
		}
		if !s.ready {
			r.step(s)
			continue
		}
		s.ready = false
		ok, err := s.read(b)
		if ok && r.window != nil {
			ok = s.inside(b)
		}
		if ok {
			r.countGaps(b.Gaps)
			r.notice(b.Events)
			return nil
		}
		r.err = err
		b.reset()
	}
	return r.err
}

// start looks at a pipe's first bytes; files were looked at by Open.
func (r *Reader) start() {
	if r.started || r.err != nil {
		return
	}
	r.started = true
	for _, s := range r.sources {
		if s.in != nil && r.err == nil {
			r.err = s.open()
		}
	}
	if r.window != nil {
		r.windowed()
	}
}

// step moves a source to its next block, or drops it at its end.
func (r *Reader) step(s *source) {
	if r.window != nil && s.table == nil && !s.opened && s.in == nil {
		r.err = s.openWindow()
		return
	}
	err := s.advance()
	if errors.Is(err, io.EOF) && s.table != nil && !s.opened {
		s.opened, s.front = true, r.window.tell(s.table.states())
		return
	}
	if errors.Is(err, io.EOF) {
		r.sources = slices.DeleteFunc(r.sources, func(o *source) bool { return o == s })
		return
	}
	r.err = err
}

// earliest is the source whose next block begins first. One that has not been
// looked at since its last block stands at that block's time.
func (r *Reader) earliest() *source {
	var first *source
	for _, s := range r.sources {
		if first == nil || s.key < first.key {
			first = s
		}
	}
	return first
}

// addHeader keeps the headers a pipe brings; those of files are known.
func (r *Reader) addHeader(h *Header) {
	if !slices.Contains(r.headers, h) {
		r.headers = append(r.headers, h)
	}
}

// maxDamage bounds the list of damages; a longer one is one long stretch.
const maxDamage = 4096

func (r *Reader) addDamage(d Damage) {
	if r.window != nil && slices.Contains(r.damage, d) {
		return // a block before the window was visited twice
	}
	if n := len(r.damage); n >= maxDamage {
		last := &r.damage[n-1]
		last.What = "more damage than can be listed"
		last.To = max(last.To, d.To)
		return
	}
	r.damage = append(r.damage, d)
}

// startedAt is when a segment began, by its header.
func startedAt(h *Header) int64 {
	t, err := time.Parse(time.RFC3339Nano, h.Started)
	if err != nil {
		return 0
	}
	return t.UnixNano()
}
