package trace

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// source reads one chain of segments from front to back: those of a rotated
// recording, or a pipe. It holds one block header ahead, by which sources are
// merged; a file is opened only when its first segment is due.
type source struct {
	r     *Reader
	refs  []segmentRef // still to come
	name  string
	file  readFile // of the current segment, nil for a pipe
	in    input    // nil before the first segment and at the end
	walk  walker
	seg   *readSegment
	key   int64 // when the block ahead begins, or the last one did
	ready bool  // there is a block ahead
	ahead blockHeader
	at    int64

	// Of a window.
	route  *route    // nil for pipes
	table  *sessions // of a pipe: the sessions before the window
	opened bool      // the states at its beginning are known
	front  []State   // to be handed out before the next block
	aside  *Batch    // what they stand before
}

// readSegment is a segment being read.
type readSegment struct {
	header *Header
	tag    uint32
	words  words
	closed bool // its index came
	again  bool // it was read before: pass over it

	expected bool // its start block, found by Open, is still to come
}

// pipeSource reads what cannot be sought in.
func (r *Reader) pipeSource(in io.Reader, name string) *source {
	s := &source{r: r, name: name, in: &streamInput{r: in}}
	s.walk = newWalker(s.in, name, 0, math.MaxInt64, r.addDamage)
	return s
}

// fileSource reads a chain of segments.
func (r *Reader) fileSource(refs []segmentRef) *source {
	s := &source{r: r, refs: refs, name: refs[0].file}
	s.key = startedAt(refs[0].header)
	return s
}

// advance goes to the next block that holds data, reading start blocks,
// dictionaries and indexes on its way; io.EOF at the end of the chain.
func (s *source) advance() error {
	for {
		if s.in == nil {
			if err := s.nextRef(); err != nil {
				return err
			}
			if s.in == nil {
				continue // nothing of that segment is needed
			}
		}
		if s.route != nil && !s.route.next(&s.walk) {
			s.endInput()
			continue
		}
		h, at, err := s.walk.next()
		if errors.Is(err, io.EOF) {
			s.endInput()
			continue
		}
		if err != nil {
			return err
		}
		data, err := s.pass(&h, at)
		if err != nil {
			return err
		}
		if data && !s.wanted(&h) {
			s.walk.trust()
			continue
		}
		if data {
			s.ahead, s.at, s.key, s.ready = h, at, h.first, true
			return nil
		}
	}
}

// open looks at the beginning of a pipe, as far as its first start block.
func (s *source) open() error {
	if s.seg != nil {
		return nil
	}
	var buf []byte
	b, err := s.in.view(0, headerSize, &buf)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if err := sniff(s.name, b); err != nil {
		return err
	}
	for s.seg == nil {
		h, at, err := s.walk.next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w: no start block can be read", s.name, ErrNotTrace)
		}
		if err == nil {
			_, err = s.pass(&h, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nextRef opens the next segment of a chain.
func (s *source) nextRef() error {
	if len(s.refs) == 0 {
		s.leave()
		s.closeFile()
		return io.EOF
	}
	ref := s.refs[0]
	s.refs = s.refs[1:]
	if s.route != nil {
		if ok, err := s.route.enter(s, &ref); err != nil || !ok {
			return err
		}
	}
	if s.file == nil || s.name != ref.file {
		f, err := s.r.open(ref.file)
		if err != nil {
			return err
		}
		s.closeFile()
		s.file, s.name = f, ref.file
	}
	s.in = fileInput{s.file}
	s.walk = newWalker(s.in, ref.file, ref.at, ref.end, s.r.addDamage)
	s.walk.tag, s.walk.tagged, s.walk.number = ref.tag, true, -1
	s.begin(ref.header, ref.tag)
	s.seg.expected = true
	s.seg.closed = s.route != nil && ref.index != 0
	return nil
}

// endInput closes the segment at the end of its bytes.
func (s *source) endInput() {
	if len(s.refs) == 0 {
		s.leave()
	}
	if p, ok := s.in.(*streamInput); ok {
		s.r.piped += uint64(p.base) + uint64(len(p.buf))
	}
	s.in = nil
	if len(s.refs) == 0 {
		s.closeFile()
	}
}

// leave lets go of the current segment's dictionary.
func (s *source) leave() {
	if s.seg == nil {
		return
	}
	if !s.seg.closed {
		s.r.torn = true
	}
	s.r.dec.wordBytes -= s.seg.words.size
	s.seg.words = words{}
}

func (s *source) closeFile() {
	if s.file != nil {
		_ = s.file.Close() // was only read
		s.file = nil
	}
}

// begin makes a segment the current one.
func (s *source) begin(h *Header, tag uint32) {
	if s.seg != nil && s.seg.expected && s.seg.tag == tag {
		s.seg.expected = false
		return // the start block of a segment that was found beforehand
	}
	s.leave()
	next := &readSegment{header: h, tag: tag}
	if prev := s.seg; prev != nil && prev.header.Trace == h.Trace {
		switch n := h.Segment - prev.header.Segment; {
		case n < 1:
			next.again = true
			s.walk.damage(s.walk.pos, s.walk.pos, "segment %d of trace %s comes again after segment %d: passed over", h.Segment, h.Trace, prev.header.Segment)
		case n > 1:
			s.walk.damage(s.walk.pos, s.walk.pos, "%d segments of trace %s are missing after segment %d", n-1, h.Trace, prev.header.Segment)
		}
	}
	s.seg = next
	s.r.addHeader(h)
}

// pass deals with a block that the caller of Reader does not see, and says
// whether this is one that he does.
func (s *source) pass(h *blockHeader, at int64) (data bool, err error) {
	switch {
	case h.kind == kindStart:
		return false, s.startBlock(h, at)
	case s.seg == nil || h.tag != s.seg.tag:
		s.walk.distrust(at, "block of a segment whose start block is lost")
		return false, nil
	case s.seg.again:
		s.walk.trust()
		return false, nil
	case h.kind == kindDictionary:
		return false, s.dictionary(h, at)
	case h.kind == kindIndex:
		return false, s.check(h, at, func([]byte) error { s.seg.closed = true; return nil })
	case h.known(), h.kind == kindCheckpoint && s.route != nil:
		return true, nil
	case h.maySkip():
		return false, s.check(h, at, func([]byte) error { return nil })
	}
	return false, fmt.Errorf("%s: block of kind %q at byte %d is unknown to this program, which reads version %d as of its build: use a newer retrace",
		s.name, h.kind, at, Version)
}

func (s *source) dictionary(h *blockHeader, at int64) error {
	err := s.check(h, at, func(body []byte) error { return s.r.dec.words(h, body, &s.seg.words) })
	if err == nil && s.r.dec.wordBytes > maxWordBytes {
		err = fmt.Errorf("%s: the dictionaries of traces read side by side take more than %d MiB: read fewer at a time", s.name, maxWordBytes>>20)
	}
	return err
}

func (s *source) startBlock(h *blockHeader, at int64) error {
	defer func() {
		// Blocks of a segment whose start block is lost are of no use: what
		// follows may be that start block again, after a write that failed.
		s.walk.tagged = s.seg != nil && s.seg.tag == h.tag
	}()
	if h.stored > maxStart {
		s.walk.distrust(at, "start block is too large")
		return nil
	}
	var refused error
	err := s.check(h, at, func(body []byte) error {
		start, err := parseStart(body)
		if start != nil && err != nil {
			refused = fmt.Errorf("%s: %w", s.name, err)
			return nil
		}
		if err == nil {
			s.begin(start, h.tag)
		}
		return err
	})
	return errors.Join(err, refused)
}

// check reads the body of a block, and hands it on if it is whole. What is
// wrong with it becomes damage; only reading itself can fail.
func (s *source) check(h *blockHeader, at int64, use func([]byte) error) error {
	body, err := s.in.view(at+headerSize, int(h.stored), &s.r.body)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if len(body) < int(h.stored) {
		s.walk.distrust(at, fmt.Sprintf("torn: block %q has %d of %d bytes", h.kind, len(body), h.stored))
		return nil
	}
	if crc32.Checksum(body, castagnoli) != h.body {
		s.walk.distrust(at, fmt.Sprintf("block %q: its checksum does not hold", h.kind))
		return nil
	}
	s.walk.trust()
	if err := use(body); err != nil {
		s.walk.damage(at, at+headerSize+int64(h.stored), "block %q: %v", h.kind, err)
	}
	return nil
}

// read decodes the block ahead into b and tells whether there was anything in it.
func (s *source) read(b *Batch) (bool, error) {
	ok := false
	err := s.check(&s.ahead, s.at, func(body []byte) error {
		b.Header = s.seg.header
		err := s.r.dec.block(&s.ahead, body, s.seg, b)
		ok = err == nil && b.size() > 0
		return err
	})
	return ok, err
}
