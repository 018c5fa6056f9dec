package trace

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Damage is a stretch of a trace that could not be read.
type Damage struct {
	File string `json:"file"`
	From int64  `json:"from"` // bytes; To is the first one that is good again
	To   int64  `json:"to"`
	What string `json:"what"`
}

// walker goes from block header to block header. After damage it looks for the
// next header that can only be a block of this trace: magic and CRC hold, and
// either the tag is that of the current segment with a later number, or it is a
// start block. A recorded value may hold a whole trace, so that magic alone
// proves nothing, and a start block is believed only if no block of the current
// segment follows within the length of the longest block.
type walker struct {
	in   input
	name string
	pos  int64 // where the next header should be
	end  int64 // of the segment or file, where known
	// from is where to search if there is no header at pos: right after the
	// previous header until that block's body has proved whole.
	from   int64
	tag    uint32
	tagged bool
	number int64 // of the last block of this segment
	report func(Damage)
	jumped bool   // blocks were passed over without looking
	bad    string // what is wrong with the last block, until it is known where the next is
	badAt  int64
	doubts int64 // bytes still to be spent on checking that a start block is not part of a value
	buf    []byte
	window []byte
}

func newWalker(in input, name string, at, end int64, report func(Damage)) walker {
	return walker{in: in, name: name, pos: at, from: at, end: end, number: -1, report: report, doubts: 1 << 30}
}

func (w *walker) damage(from, to int64, format string, args ...any) {
	w.report(Damage{w.name, from, to, fmt.Sprintf(format, args...)})
}

// next finds the next header and its offset; io.EOF at the end.
func (w *walker) next() (blockHeader, int64, error) {
	h, err := w.peek(w.pos)
	switch {
	case err == nil:
		w.settle(w.pos)
	case errors.Is(err, errNoHeader), errors.Is(err, io.EOF) && w.from < w.pos:
		if h, err = w.resync(); err != nil {
			return h, w.pos, err
		}
	default:
		return h, w.pos, err
	}
	at := w.pos
	w.pos = at + headerSize + int64(h.stored)
	w.from = at + headerSize
	w.arrive(&h, at)
	return h, at, nil
}

// jump goes to a block that is known to be there.
func (w *walker) jump(at int64) {
	w.settle(w.pos)
	w.pos, w.from, w.jumped = at, at, true
}

// trust says that the body of the last block is whole.
func (w *walker) trust() { w.from = w.pos }

// distrust says that the body of the last block, at this offset, is not.
func (w *walker) distrust(at int64, what string) { w.bad, w.badAt = what, at }

// settle reports the block that was distrusted, now that it is known where the
// trace goes on.
func (w *walker) settle(to int64) {
	if w.bad != "" {
		w.report(Damage{w.name, w.badAt, to, w.bad})
		w.bad = ""
	}
}

// arrive keeps the books of blocks and notices those that are missing.
func (w *walker) arrive(h *blockHeader, at int64) {
	if h.kind == kindStart {
		w.tag, w.tagged, w.number = h.tag, true, int64(h.number)
		return
	}
	if !w.tagged || h.tag != w.tag {
		return
	}
	if missing := int64(h.number) - w.number - 1; missing > 0 && !w.jumped {
		w.damage(at, at, "%d blocks are missing (numbers %d to %d of segment %08x)", missing, w.number+1, h.number-1, w.tag)
	}
	w.number = int64(h.number)
}

// peek reads the header at an offset; io.EOF where the input ends.
func (w *walker) peek(at int64) (blockHeader, error) {
	if at >= w.end {
		return blockHeader{}, io.EOF
	}
	w.in.forget(min(at, w.from))
	b, err := w.in.view(at, int(min(headerSize, w.end-at)), &w.buf)
	if err != nil {
		return blockHeader{}, fmt.Errorf("%s: %w", w.name, err)
	}
	if len(b) == 0 {
		return blockHeader{}, io.EOF
	}
	h, err := parseHeader(b)
	if err != nil && !errors.Is(err, errNoHeader) {
		err = fmt.Errorf("%s: %w", w.name, err)
	}
	return h, err
}

// resync searches for the next block after damage and reports what it passed.
func (w *walker) resync() (blockHeader, error) {
	from := w.from
	if w.bad == "" {
		w.bad, w.badAt = "no block begins here", from
	}
	h, at, err := w.search(from)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	if err != nil && at <= w.badAt {
		w.bad = "" // the end came exactly here
	}
	w.settle(at)
	w.pos, w.from = at, at
	return h, err
}

// search looks for the next believable header from an offset on. With io.EOF
// the offset is that of the end.
func (w *walker) search(from int64) (blockHeader, int64, error) {
	var start blockHeader
	startAt := int64(-1)
	for pos := from; ; {
		if startAt < 0 {
			w.in.forget(pos)
		}
		n := int(max(0, min(searchWindow, w.end-pos)))
		b, err := w.in.view(pos, n, &w.window)
		if err != nil {
			return start, pos, fmt.Errorf("%s: %w", w.name, err)
		}
		if h, i := headerIn(b, w.sameSegment); i >= 0 {
			return h, pos + int64(i), nil
		}
		if startAt < 0 {
			if h, i := headerIn(b, func(h *blockHeader, i int) bool { return w.startBlock(h, pos+int64(i)) }); i >= 0 {
				start, startAt = h, pos+int64(i)
			}
		}
		if startAt >= 0 {
			w.doubts -= int64(len(b))
		}
		last := len(b) < n || pos+int64(len(b)) >= w.end
		if startAt >= 0 && (last || !w.tagged || w.doubts <= 0 || pos > startAt+headerSize+maxStored) {
			return start, startAt, nil
		}
		if last {
			return start, pos + int64(len(b)), io.EOF
		}
		pos += int64(len(b)) - headerSize + 1
	}
}

const searchWindow = 256 << 10

// headerIn finds the first header in b that is of a kind this program can pass
// and that believe accepts.
func headerIn(b []byte, believe func(*blockHeader, int) bool) (blockHeader, int) {
	for i := 0; ; i++ {
		k := bytes.Index(b[i:], magic[:])
		if k < 0 {
			return blockHeader{}, -1
		}
		i += k
		h, err := parseHeader(b[i:])
		if err == nil && (h.known() || h.maySkip()) && believe(&h, i) {
			return h, i
		}
	}
}

// sameSegment tells whether a header can be a later block of this segment. One
// whose body was not whole may have been written again.
func (w *walker) sameSegment(h *blockHeader, _ int) bool {
	least := w.number + 1
	if w.from < w.pos {
		least = w.number
	}
	return w.tagged && h.tag == w.tag && int64(h.number) >= least && h.kind != kindStart
}

// startBlock tells whether a whole start block stands at this offset.
func (w *walker) startBlock(h *blockHeader, at int64) bool {
	if h.kind != kindStart || h.stored > maxStart {
		return false
	}
	b, err := w.in.view(at+headerSize, int(h.stored), &w.buf)
	return err == nil && len(b) == int(h.stored) && crc32.Checksum(b, castagnoli) == h.body
}
