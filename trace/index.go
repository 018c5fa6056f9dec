package trace

import (
	"encoding/binary"
	"encoding/json"
)

const (
	trailerSize = 24
	trailerMark = "TRACEEND"
)

// Columns of an index block.
const (
	colOffset     = 1 // delta to the previous block's offset in the segment
	colStored     = 2
	colKind       = 3
	colCount      = 4
	colFirst      = 5 // signed delta to the previous block's, ns
	colSpan       = 6 // last - first
	colLanes      = 7 // bytes, eight per block
	colTotals     = 8 // JSON
	colStartBlock = 9 // the start block's body, should that be damaged
)

// placed is a block with its offset in the segment.
type placed struct {
	blockHeader
	offset int64
}

// index collects what the index block will say, already encoded: some twenty
// bytes a block.
type index struct {
	count                                  int
	lanes                                  uint64
	offset, first                          int64 // of the last block
	offsets, stored, kinds, counts, firsts []byte
	spans, laneSets                        []byte
}

func (x *index) add(p *placed) {
	x.offsets = appendUvarint(x.offsets, uint64(p.offset-x.offset))
	x.stored = appendUvarint(x.stored, uint64(p.stored))
	x.kinds = appendUvarint(x.kinds, uint64(p.kind))
	x.counts = appendUvarint(x.counts, uint64(p.count))
	x.firsts = appendUvarint(x.firsts, zigzag(p.first-x.first))
	x.spans = appendUvarint(x.spans, uint64(p.last-p.first))
	x.laneSets = binary.LittleEndian.AppendUint64(x.laneSets, p.lanes)
	x.offset, x.first = p.offset, p.first
	x.lanes |= p.lanes
	x.count++
}

func (x *index) encode(b *body, t Totals, start []byte) error {
	totals, err := json.Marshal(t)
	if err != nil {
		return err
	}
	b.numbers(colOffset, x.offsets)
	b.numbers(colStored, x.stored)
	b.numbers(colKind, x.kinds)
	b.numbers(colCount, x.counts)
	b.numbers(colFirst, x.firsts)
	b.numbers(colSpan, x.spans)
	b.bytes(colLanes, x.laneSets)
	b.bytes(colTotals, totals)
	b.bytes(colStartBlock, start)
	return nil
}
