package trace

import "encoding/binary"

// zigzag folds a signed number so that small ones of either sign stay short.
func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// appendUvarint is binary.AppendUvarint with the one-byte case in line.
func appendUvarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return binary.AppendUvarint(b, v)
}

// cursor reads the numbers of one column in turn. A column that repeats one
// value and a column that is absent are cursors as well, so that the loops over
// events need not tell them apart.
type cursor struct {
	b      []byte // what is left
	repeat bool
	value  uint64
	bad    bool // ran out, or a number longer than 64 bits
}

func (c *cursor) next() uint64 {
	if c.repeat {
		return c.value
	}
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := uint64(c.b[0])
		c.b = c.b[1:]
		return v
	}
	return c.long()
}

func (c *cursor) long() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.bad, c.b = true, nil
		return 0
	}
	c.b = c.b[n:]
	return v
}

// done tells whether the column held exactly the numbers that were read.
func (c *cursor) done() bool { return !c.bad && len(c.b) == 0 }
