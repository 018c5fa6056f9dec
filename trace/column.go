package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Column ids of event and reply blocks. Unknown ones are skipped by length, so
// a new column is not a new version.
const (
	colSession  = 1 // per run: delta to the previous run's session
	colEvents   = 2 // per run: how many events follow
	colOrdinal  = 3 // per run: ordinal of the first
	colGap      = 4 // per event: ticks since the previous one ended, signed
	colTook     = 5 // per event: ticks to the last reply byte, +1; 0 = not known yet
	colShape    = 6 // per event: dictionary id
	colSize     = 7 // per hole
	colValue    = 8 // bytes
	colRows     = 9
	colBytes    = 10
	colStatus   = 11
	colState    = 12
	colTail     = 13
	colChecksum = 14
	colDue      = 15
	colFlags    = 16
	colResults  = 17
	colReason   = 18
	colDiverged = 19
)

// Columns of dictionary, state, gap and index blocks have ids of their own.
const (
	colOp         = 1 // dictionary, per entry
	colPrepare    = 2
	colTypeCount  = 3
	colType       = 4 // per type
	colShapeSize  = 5
	colShapeBytes = 6 // bytes
	colTextSize   = 7
	colTextBytes  = 8 // bytes

	colJSON = 1 // state and gap blocks: a JSON document a line
)

// Bits of the flags column.
const (
	flagRequestEnd = 1 << iota
	flagOverLimit
)

// Codecs.
const (
	codecRaw    = 0
	codecZstd   = 1
	codecRepeat = 2 // one number, the same for all
)

const directoryEntry = 12

// body assembles the body of one block: a directory, then the columns.
type body struct {
	dir  []byte
	data []byte
	raw  int
	z    *packer
}

func (b *body) reset() { b.dir, b.data, b.raw = b.dir[:0], b.data[:0], 0 }

func (b *body) columns() uint16 { return uint16(len(b.dir) / directoryEntry) }

func (b *body) entry(id, codec byte, raw, stored int) {
	b.raw += raw
	b.dir = append(b.dir, id, codec, 0, 0)
	b.dir = binary.LittleEndian.AppendUint32(b.dir, uint32(raw))
	b.dir = binary.LittleEndian.AppendUint32(b.dir, uint32(stored))
}

// numbers adds a column of uvarints; one that says the same throughout is
// stored once.
func (b *body) numbers(id byte, col []byte) {
	if p := period(col); p > 0 {
		b.data = append(b.data, col[:p]...)
		b.entry(id, codecRepeat, len(col), p)
		return
	}
	b.bytes(id, col)
}

// period is the length of the first number if all are equal to it, else 0. A
// buffer that equals itself moved by one number holds that number only.
func period(col []byte) int {
	n := 0
	for n < len(col) && col[n] >= 0x80 {
		n++
	}
	n++
	if n <= len(col) && bytes.Equal(col[n:], col[:len(col)-n]) {
		return n
	}
	return 0
}

// bytes adds a column as it is, compressed if that helps.
func (b *body) bytes(id byte, col []byte) {
	at := len(b.data)
	if b.data = b.z.pack(b.data, col); len(b.data)-at < len(col) {
		b.entry(id, codecZstd, len(col), len(b.data)-at)
		return
	}
	b.data = append(b.data[:at], col...)
	b.entry(id, codecRaw, len(col), len(col))
}

// column is one column of a block that is being read, not yet unpacked.
type column struct {
	codec  byte
	raw    int
	stored []byte
}

var errNoColumn = errors.New("column is missing")

// directory splits a body into its columns by id. Sizes are checked against
// the body and maxRaw before anything is allocated. Ids beyond the array are
// of a later version.
type directory struct {
	cols [32]column
	set  uint32
}

func (d *directory) parse(b []byte, columns int) error {
	d.set = 0
	if columns*directoryEntry > len(b) {
		return errors.New("column directory is longer than the block")
	}
	dir, data, total := b[:columns*directoryEntry], b[columns*directoryEntry:], 0
	for ; len(dir) > 0; dir = dir[directoryEntry:] {
		id, codec := dir[0], dir[1]
		raw, stored := binary.LittleEndian.Uint32(dir[4:]), binary.LittleEndian.Uint32(dir[8:])
		if uint64(stored) > uint64(len(data)) {
			return fmt.Errorf("column %d is longer than the block", id)
		}
		if raw > maxRaw || total+int(raw) > maxRaw {
			return fmt.Errorf("columns decode to more than %d MiB", maxRaw>>20)
		}
		total += int(raw)
		if int(id) < len(d.cols) && d.set>>id&1 == 0 {
			d.cols[id] = column{codec: codec, raw: int(raw), stored: data[:stored:stored]}
			d.set |= 1 << id
		}
		data = data[stored:]
	}
	if len(data) != 0 {
		return fmt.Errorf("%d bytes after the last column", len(data))
	}
	return nil
}

func (d *directory) has(id byte) bool { return d.set>>id&1 == 1 }

// bytes unpacks a column into the arena or, where it is stored as it is, returns
// that part of the block.
func (d *directory) bytes(id byte, z *unpacker, a *arena) ([]byte, error) {
	if !d.has(id) {
		return nil, fmt.Errorf("column %d: %w", id, errNoColumn)
	}
	c := &d.cols[id]
	switch c.codec {
	case codecRaw:
		if len(c.stored) != c.raw {
			return nil, fmt.Errorf("column %d: raw length is not its length", id)
		}
		return c.stored, nil
	case codecZstd:
		b, err := z.unpack(a, c.stored, c.raw)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", id, err)
		}
		return b, nil
	}
	return nil, fmt.Errorf("column %d: unknown codec %d", id, c.codec)
}

// numbers opens a column of n numbers, or of how many there are if n is -1. An
// absent one is all zero.
func (d *directory) numbers(id byte, n int, z *unpacker, a *arena) (cursor, error) {
	if !d.has(id) {
		return cursor{repeat: true}, nil
	}
	c := &d.cols[id]
	if c.codec != codecRepeat {
		b, err := d.bytes(id, z, a)
		if err == nil && len(b) < n {
			err = fmt.Errorf("column %d is too short", id)
		}
		return cursor{b: b}, err
	}
	v, k := binary.Uvarint(c.stored)
	if k <= 0 || k != len(c.stored) || c.raw%k != 0 || n >= 0 && k*n != c.raw {
		return cursor{}, fmt.Errorf("column %d: damaged repeat", id)
	}
	return cursor{repeat: true, value: v}, nil
}

// count is how many numbers a column can hold at most.
func (d *directory) count(id byte) int {
	if c := &d.cols[id]; c.codec == codecRepeat && len(c.stored) > 0 {
		return c.raw / len(c.stored)
	}
	return d.cols[id].raw
}
