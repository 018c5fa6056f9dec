package trace

import (
	"errors"
	"fmt"
	"math"
)

// decoder turns the bodies of blocks into what they hold. Its buffers are used
// again for each block.
type decoder struct {
	z        unpacker
	noValues bool
	dir      directory
	arena    arena
	cols     eventColumns

	wordBytes int // what the dictionaries of all open segments take
}

// entrySize is what an Entry takes besides its bytes. maxWordBytes bounds the
// dictionaries of all segments that are read side by side.
const (
	entrySize    = 128
	maxWordBytes = 1 << 30
)

// eventColumns are the columns of an event or reply block being read.
type eventColumns struct {
	session, events, ordinal                     cursor
	gap, took, shape, size                       cursor
	rows, bytes, status, state, tail, due, flags cursor
	results, reason, diverged, checksum          cursor
	value                                        []byte
	sizes                                        int // how many there are at most
	hasDue, hasValues, hasChecksum               bool
}

// block decodes a block that holds data into b.
func (d *decoder) block(h *blockHeader, body []byte, seg *readSegment, b *Batch) error {
	d.arena.reset()
	if err := d.dir.parse(body, int(h.columns)); err != nil {
		return err
	}
	switch h.kind {
	case kindEvents:
		return d.events(h, seg, b)
	case kindReplies:
		return d.replies(h, seg, b)
	}
	return d.records(h, b)
}

// words decodes a dictionary block.
func (d *decoder) words(h *blockHeader, body []byte, w *words) error {
	d.arena.reset()
	if err := d.dir.parse(body, int(h.columns)); err != nil {
		return err
	}
	return w.take(h, &d.dir, d)
}

func (d *decoder) numbers(err *error, id byte, n int) cursor {
	if *err != nil {
		return cursor{}
	}
	var c cursor
	c, *err = d.dir.numbers(id, n, &d.z, &d.arena)
	return c
}

// copied unpacks a column of bytes that outlives the block.
func (d *decoder) copied(err *error, id byte) []byte {
	if *err != nil {
		return nil
	}
	var b []byte
	b, *err = d.dir.bytes(id, &d.z, &d.arena)
	return append([]byte(nil), b...)
}

func (d *decoder) openEntries(dir *directory, n int) (*entryColumns, error) {
	var err error
	if !dir.has(colOp) || n > dir.cols[colOp].raw {
		return nil, errors.New("dictionary block has fewer entries than it says")
	}
	c := &entryColumns{
		op: d.numbers(&err, colOp, n), prepare: d.numbers(&err, colPrepare, n),
		typeCount: d.numbers(&err, colTypeCount, n), shapeSize: d.numbers(&err, colShapeSize, n),
		textSize: d.numbers(&err, colTextSize, n), shape: d.copied(&err, colShapeBytes), text: d.copied(&err, colTextBytes),
	}
	if dir.has(colType) && err == nil {
		var types []byte
		types, err = dir.bytes(colType, &d.z, &d.arena)
		c.types = cursor{b: types}
	}
	c.raw = len(c.shape) + len(c.text) + entrySize*n
	return c, err
}

var errCount = fmt.Errorf("block of more than %d events", maxCount)

// open unpacks the columns that events and replies share.
func (d *decoder) open(h *blockHeader) error {
	var err error
	n := int(h.count)
	if h.count > maxCount {
		return errCount
	}
	for _, id := range [...]byte{colSession, colEvents, colOrdinal} {
		if !d.dir.has(id) {
			return fmt.Errorf("column %d: %w", id, errNoColumn)
		}
	}
	c := &d.cols
	c.session, c.events, c.ordinal = d.numbers(&err, colSession, -1), d.numbers(&err, colEvents, -1), d.numbers(&err, colOrdinal, -1)
	c.took, c.shape = d.numbers(&err, colTook, n), d.numbers(&err, colShape, n)
	c.rows, c.bytes = d.numbers(&err, colRows, n), d.numbers(&err, colBytes, n)
	c.status, c.state = d.numbers(&err, colStatus, n), d.numbers(&err, colState, n)
	c.tail, c.results = d.numbers(&err, colTail, n), d.numbers(&err, colResults, n)
	c.reason, c.checksum = d.numbers(&err, colReason, n), d.numbers(&err, colChecksum, n)
	c.hasChecksum = d.dir.has(colChecksum)
	return err
}

// openEvents unpacks the columns that only events have.
func (d *decoder) openEvents(h *blockHeader) error {
	if err := d.open(h); err != nil {
		return err
	}
	var err error
	n, c := int(h.count), &d.cols
	for _, id := range [...]byte{colGap, colShape} {
		if !d.dir.has(id) {
			return fmt.Errorf("column %d: %w", id, errNoColumn)
		}
	}
	c.gap, c.flags = d.numbers(&err, colGap, n), d.numbers(&err, colFlags, n)
	c.due, c.diverged = d.numbers(&err, colDue, n), d.numbers(&err, colDiverged, n)
	c.hasDue = d.dir.has(colDue)
	c.hasValues = !d.noValues && d.dir.has(colSize) && d.dir.has(colValue)
	c.size, c.value = cursor{}, nil
	if c.hasValues && err == nil {
		c.size = d.numbers(&err, colSize, -1)
		c.sizes = min(d.dir.count(colSize), maxSizes)
		if err == nil {
			c.value, err = d.dir.bytes(colValue, &d.z, &d.arena)
		}
	}
	return err
}

// done checks that every column held what the runs said, no more and no less.
func (c *eventColumns) done() error {
	for _, k := range [...]*cursor{
		&c.session, &c.events, &c.ordinal, &c.gap, &c.took, &c.shape, &c.size, &c.rows,
		&c.bytes, &c.status, &c.state, &c.tail, &c.due, &c.flags, &c.results, &c.reason, &c.diverged, &c.checksum,
	} {
		if !k.done() {
			return errors.New("columns do not agree on their length")
		}
	}
	if len(c.value) != 0 {
		return errors.New("values are left over")
	}
	return nil
}

// run is the next run of a session's events.
func (c *eventColumns) run(session *uint64, left int, lanes uint64) (ordinal uint64, n int, err error) {
	*session += c.session.next()
	count := c.events.next()
	ordinal = c.ordinal.next()
	if count == 0 || count > uint64(left) || ordinal > math.MaxUint64-count {
		return 0, 0, errors.New("damaged run of events")
	}
	if lanes&lane(*session) == 0 {
		return 0, 0, errors.New("session is not in the block's lanes")
	}
	return ordinal, int(count), nil
}
