package trace

import (
	"errors"
	"io"
	"math"
	"slices"
)

// A window of files is read in two goes: first what leads to the states at its
// beginning, then what is inside it. Both visit only the blocks they need. A
// pipe is read once, from its beginning.

// route is which blocks of the segments of a source are visited; nil for all.
type route struct {
	leading bool // to the states at the beginning of the window
	begun   bool // inside the window, or in its first segment
	past    bool // the window has begun in a segment
	after   bool // so that this one is the last that may lead to it
	todo    []placed
	at      int64 // of the segment
}

// openWindow reads what the states at the beginning of the window rest on.
func (s *source) openWindow() error {
	s.opened = true
	w := s.r.window
	s.route = &route{begun: !w.bounded()}
	if !w.bounded() {
		return nil
	}
	if err := s.skipSegments(); err != nil || s.refs[0].header.IsRun() {
		return err
	}
	o := s.r.fileSource(s.refs)
	defer o.closeFile()
	o.opened, o.route = true, &route{leading: true}
	table := s.r.sessions()
	var b Batch
	for {
		err := o.advance()
		if errors.Is(err, io.EOF) {
			s.front = w.tell(table.states())
			return nil
		}
		if err != nil {
			return err
		}
		b.reset()
		ok, err := o.read(&b)
		if err != nil {
			return err
		}
		if ok {
			w.lead(table, &b)
		}
	}
}

// lead follows what a block says of the time before the window.
func (w *window) lead(table *sessions, b *Batch) {
	c := *b
	if w.lanes != math.MaxUint64 {
		c.States = slices.DeleteFunc(slices.Clone(b.States), func(s State) bool { return !w.has(s.Session) })
		c.Events = slices.DeleteFunc(slices.Clone(b.Events), func(e Event) bool { return !w.has(e.Session) })
	}
	table.take(&c, w.from)
}

// skipSegments passes over those at the front that end before the window.
func (s *source) skipSegments() error {
	for len(s.refs) > 1 {
		blocks, err := s.r.blocks(&s.refs[0])
		if err != nil {
			return err
		}
		inside := func(p placed) bool { return (p.kind == kindEvents || p.kind == kindGaps) && p.last >= s.r.window.from }
		if slices.ContainsFunc(blocks, inside) {
			return nil
		}
		s.refs = s.refs[1:]
	}
	return nil
}

// enter plans the way through a segment; false if none of it is needed.
func (r *route) enter(s *source, ref *segmentRef) (bool, error) {
	if r.after {
		return false, nil
	}
	blocks, err := s.r.blocks(ref)
	if err != nil {
		return false, err
	}
	w := s.r.window
	r.at = ref.at
	if r.leading {
		// Replies to what came before the window may stand in the segment after.
		r.after = r.past
		r.past = r.past || slices.ContainsFunc(blocks, func(p placed) bool { return p.kind == kindEvents && p.first >= w.from })
		r.todo = w.leading(blocks, !r.begun)
		r.begun = true
	} else {
		r.todo = w.inside(blocks, r)
	}
	return len(r.todo) > 0, nil
}

// leading are the blocks that tell the states at the window's beginning. Only
// in the first segment are checkpoints of use.
func (w *window) leading(blocks []placed, first bool) []placed {
	from := -1
	if first {
		for i := range blocks {
			if p := &blocks[i]; p.kind == kindCheckpoint && p.last < w.from {
				from = i
			}
		}
		for from > 0 && blocks[from-1].kind == kindCheckpoint {
			from--
		}
	}
	leads := func(i int, p *placed) bool {
		switch p.kind {
		case kindCheckpoint:
			return i >= from && from >= 0 && p.last == blocks[from].last && p.lanes&w.lanes != 0
		case kindEvents, kindReplies, kindState, kindGaps:
			return i > from && w.before(&p.blockHeader)
		}
		return mustRead(p)
	}
	return visits(blocks, leads)
}

// inside are the blocks that hold something of the window.
func (w *window) inside(blocks []placed, r *route) []placed {
	begun := r.begun
	return visits(blocks, func(_ int, p *placed) bool {
		switch p.kind {
		case kindCheckpoint:
			return false
		case kindState:
			return p.lanes&w.lanes != 0 && p.first < w.to && (begun || p.last >= w.from)
		case kindEvents, kindReplies, kindGaps:
			meets := w.meets(&p.blockHeader)
			begun = begun || meets
			return meets
		}
		return mustRead(p)
	})
}

// mustRead: a block of a kind that a reader has to understand.
func mustRead(p *placed) bool { return !p.known() && !p.maySkip() }

// visits are the blocks that are wanted, and the dictionaries they may need.
func visits(blocks []placed, wanted func(int, *placed) bool) []placed {
	last := -1
	var list []placed
	for i := range blocks {
		if wanted(i, &blocks[i]) {
			last = len(list)
		} else if blocks[i].kind != kindDictionary {
			continue
		}
		list = append(list, blocks[i])
	}
	return list[:last+1]
}

// next goes to the next block of the way; false at its end.
func (r *route) next(w *walker) bool {
	for len(r.todo) > 0 {
		at := r.at + r.todo[0].offset
		r.todo = r.todo[1:]
		if at >= w.pos {
			w.jump(at)
			return true
		}
	}
	return false
}

// listed are the blocks of a segment.
type listed struct {
	file   string
	at     int64
	blocks []placed
}

// blocks lists those of a segment, by its index or else by their headers. The
// last few lists are kept.
func (r *Reader) blocks(ref *segmentRef) ([]placed, error) {
	for i := range r.lists {
		if l := &r.lists[i]; l.file == ref.file && l.at == ref.at {
			return l.blocks, nil
		}
	}
	l := listed{file: ref.file, at: ref.at}
	if x, err := r.indexOf(ref); err == nil {
		l.blocks = x.blocks
	} else if l.blocks, err = r.walkBlocks(ref); err != nil {
		return nil, err
	}
	if len(r.lists) >= keptLists {
		r.lists = r.lists[:copy(r.lists, r.lists[1:])]
	}
	r.lists = append(r.lists, l)
	return l.blocks, nil
}

const keptLists = 2

// indexOf is the index of a segment if it has one that can be used.
func (r *Reader) indexOf(ref *segmentRef) (*loadedIndex, error) {
	if ref.index == 0 {
		return nil, errNoIndex
	}
	x, err := r.loadIndex(ref)
	if err != nil {
		return nil, err
	}
	at := int64(0)
	for i := range x.blocks {
		if p := &x.blocks[i]; p.offset <= at || p.offset >= ref.index-ref.at {
			return nil, errNoIndex
		}
		at = x.blocks[i].offset
	}
	return x, nil
}

var errNoIndex = errors.New("segment has no index")

// walkBlocks goes from header to header.
func (r *Reader) walkBlocks(ref *segmentRef) ([]placed, error) {
	f, err := r.open(ref.file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // was only read
	w := newWalker(fileInput{f}, ref.file, ref.at, ref.end, r.addDamage)
	w.tag, w.tagged = ref.tag, true
	var blocks []placed
	for {
		h, at, err := w.next()
		if errors.Is(err, io.EOF) {
			return blocks, nil
		}
		if err != nil {
			return nil, err
		}
		w.trust()
		if h.kind == kindIndex && h.tag == ref.tag {
			return blocks, nil
		}
		if h.kind != kindStart && h.tag == ref.tag {
			blocks = append(blocks, placed{h, at - ref.at})
		}
	}
}
