package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// replies decodes a late-reply block.
func (d *decoder) replies(h *blockHeader, seg *readSegment, b *Batch) error {
	if err := d.open(h); err != nil {
		return err
	}
	n, c := int(h.count), &d.cols
	c.gap, c.flags, c.due, c.diverged, c.size, c.value = cursor{}, cursor{}, cursor{}, cursor{}, cursor{}, nil
	b.Late = slices.Grow(b.Late[:0], n)
	session := uint64(0)
	for len(b.Late) < n {
		ordinal, k, err := c.run(&session, n-len(b.Late), h.lanes)
		if err != nil {
			return err
		}
		for i := range k {
			l := Late{Session: session, Ordinal: ordinal + uint64(i)}
			if err := c.late(&l, seg); err != nil {
				return err
			}
			b.Late = append(b.Late, l)
		}
	}
	return c.done()
}

func (c *eventColumns) late(l *Late, seg *readSegment) error {
	tick := seg.header.TickNS
	took, tail, results := c.took.next(), c.tail.next(), c.results.next()
	status, state := c.status.next(), c.state.next()
	if took == 0 || took-1 > uint64(math.MaxInt64/4/tick) || tail > took-1 {
		return errTime
	}
	if status > math.MaxUint8 || state > math.MaxUint8 || results > math.MaxUint32 {
		return errSmall
	}
	l.Took, l.Tail = int64(took-1)*tick, int64(tail)*tick
	l.Rows, l.Bytes, l.Results = c.rows.next(), c.bytes.next(), uint32(results)
	l.Checksum, l.HasChecksum = c.checksum.next(), c.hasChecksum
	l.Status, l.State = Status(status), byte(state)
	var ok bool
	if l.Reason, ok = seg.words.reason(c.reason.next()); !ok {
		return errWord
	}
	if shape := c.shape.next(); shape != 0 {
		if l.Entry = seg.words.entry(shape - 1); l.Entry == nil {
			return errWord
		}
	}
	return nil
}

// records decodes a state or gap block: a JSON document a line.
func (d *decoder) records(h *blockHeader, b *Batch) error {
	if h.count > maxCount {
		return errCount
	}
	lines, err := d.dir.bytes(colJSON, &d.z, &d.arena)
	if err != nil {
		return err
	}
	n := uint32(0)
	for ; len(lines) > 0 && n < h.count && err == nil; n++ {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte{'\n'})
		if h.kind != kindGaps {
			var s State
			err = json.Unmarshal(line, &s)
			b.States = append(b.States, s)
		} else {
			var g Gap
			err = json.Unmarshal(line, &g)
			b.Gaps = append(b.Gaps, g)
		}
	}
	if err == nil && (n != h.count || len(lines) > 0) {
		err = fmt.Errorf("block says it has %d records and has another number", h.count)
	}
	return err
}
