package trace

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// loadedIndex is an index block that was read.
type loadedIndex struct {
	blocks []placed
	totals Totals
}

// loadIndex reads the index of a segment that has one.
func (r *Reader) loadIndex(ref *segmentRef) (*loadedIndex, error) {
	f, err := r.open(ref.file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // was only read
	var b []byte
	in := fileInput{f}
	head, err := in.view(ref.index, headerSize, &b)
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(head)
	if err != nil || h.kind != kindIndex || h.stored < trailerSize || h.tag != ref.tag {
		return nil, fmt.Errorf("%s: no index at byte %d", ref.file, ref.index)
	}
	body, err := in.view(ref.index+headerSize, int(h.stored), &b)
	if err != nil {
		return nil, err
	}
	if len(body) != int(h.stored) || crc32.Checksum(body, castagnoli) != h.body {
		return nil, fmt.Errorf("%s: index at byte %d is damaged", ref.file, ref.index)
	}
	return parseIndex(&h, body[:len(body)-trailerSize], &r.dec.z)
}

func parseIndex(h *blockHeader, body []byte, u *unpacker) (*loadedIndex, error) {
	var dir directory
	if err := dir.parse(body, int(h.columns)); err != nil {
		return nil, err
	}
	if h.count > maxIndex+256 {
		return nil, fmt.Errorf("index of %d blocks", h.count)
	}
	var a arena
	text, err := dir.bytes(colTotals, u, &a)
	if err != nil {
		return nil, err
	}
	x := &loadedIndex{blocks: make([]placed, h.count)}
	if err := json.Unmarshal(text, &x.totals); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return x, x.columns(&dir, u)
}

func (x *loadedIndex) columns(dir *directory, u *unpacker) error {
	n := len(x.blocks)
	var offset, first int64
	for _, col := range []struct {
		id  byte
		set func(p *placed, v uint64)
	}{
		{colOffset, func(p *placed, v uint64) { offset += int64(v); p.offset = offset }},
		{colStored, func(p *placed, v uint64) { p.stored = uint32(v) }},
		{colKind, func(p *placed, v uint64) { p.kind = byte(v) }},
		{colCount, func(p *placed, v uint64) { p.count = uint32(v) }},
		{colFirst, func(p *placed, v uint64) { first += unzigzag(v); p.first = first }},
		{colSpan, func(p *placed, v uint64) { p.last = p.first + int64(v) }},
	} {
		var a arena
		c, err := dir.numbers(col.id, n, u, &a)
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		for i := range x.blocks {
			col.set(&x.blocks[i], c.next())
		}
		if !c.done() {
			return fmt.Errorf("index: column %d has another length", col.id)
		}
	}
	return x.lanes(dir, u)
}

// lanes reads the sets of lanes, eight bytes a block.
func (x *loadedIndex) lanes(dir *directory, u *unpacker) error {
	var a arena
	b, err := dir.bytes(colLanes, u, &a)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if len(b) != 8*len(x.blocks) {
		return fmt.Errorf("index: column %d has another length", colLanes)
	}
	for i := range x.blocks {
		x.blocks[i].lanes = binary.LittleEndian.Uint64(b[8*i:])
	}
	return nil
}
