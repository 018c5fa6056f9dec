package pg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrRedacted: the event had values that were not stored.
var ErrRedacted = errors.New("a value of this event was redacted")

// joiner puts an event together. What it writes is bounded by what it is
// given: no number of the shape is trusted.
type joiner struct {
	dst    []byte
	shape  []byte
	sizes  []uint64
	values []byte
	begun  int // where the length of the message at hand belongs; −1 outside messages
}

// Join appends the event that Split has taken apart.
func Join(dst, shape []byte, sizes []uint64, values []byte) ([]byte, error) {
	j := joiner{dst: dst, shape: shape, sizes: sizes, values: values, begun: -1}
	for len(j.shape) > 0 {
		if err := j.token(); err != nil {
			return dst, fmt.Errorf("joining an event of %d bytes of shape and %d of values: %w", len(shape), len(values), err)
		}
	}
	if err := j.end(); err != nil {
		return dst, err
	}
	if len(j.sizes) > 0 || len(j.values) > 0 {
		return dst, fmt.Errorf("joining an event: %d values with %d bytes have no hole", len(j.sizes), len(j.values))
	}
	return j.dst, nil
}

// token acts on one token of the shape.
func (j *joiner) token() error {
	tok := j.shape[0]
	j.shape = j.shape[1:]
	switch tok {
	case tokMessage:
		return j.begin()
	case tokLiteral:
		return j.literal()
	case tokHole, tokParam:
		return j.value(tok == tokParam)
	}
	return fmt.Errorf("unknown token %#x in the shape", tok)
}

// begin ends the message at hand and begins another.
func (j *joiner) begin() error {
	if len(j.shape) == 0 {
		return errors.New("the shape ends where a message should begin")
	}
	if err := j.end(); err != nil {
		return err
	}
	j.dst = append(j.dst, j.shape[0], 0, 0, 0, 0)
	j.begun = len(j.dst) - 4
	j.shape = j.shape[1:]
	return nil
}

// end writes the length of the message at hand.
func (j *joiner) end() error {
	if j.begun < 0 {
		return nil
	}
	n := len(j.dst) - j.begun
	if n > math.MaxInt32 {
		return fmt.Errorf("a message of %d bytes is too long", n)
	}
	binary.BigEndian.PutUint32(j.dst[j.begun:], uint32(n))
	return nil
}

// literal copies bytes of the shape.
func (j *joiner) literal() error {
	n, used := uint64(0), 1
	if len(j.shape) > 0 && j.shape[0] < 0x80 {
		n = uint64(j.shape[0])
	} else if n, used = binary.Uvarint(j.shape); used <= 0 {
		return errors.New("the shape has a damaged length")
	}
	if n > uint64(len(j.shape)-used) {
		return fmt.Errorf("the shape wants %d bytes and has %d", n, len(j.shape)-used)
	}
	end := used + int(n)
	j.dst = append(j.dst, j.shape[used:end]...)
	j.shape = j.shape[end:]
	return nil
}

// value fills a hole.
func (j *joiner) value(param bool) error {
	if len(j.sizes) == 0 {
		return errors.New("the shape has more holes than there are values")
	}
	n := j.sizes[0]
	j.sizes = j.sizes[1:]
	switch {
	case n == sizeRedacted:
		return ErrRedacted
	case n == sizeNull && !param:
		return errors.New("NULL where only bytes can be")
	case n == sizeNull:
		j.dst = append(j.dst, 0xff, 0xff, 0xff, 0xff)
		return nil
	}
	if n -= sizeBase; n > uint64(len(j.values)) || n > math.MaxInt32 {
		return fmt.Errorf("a value of %d bytes is wanted and %d are left", n, len(j.values))
	}
	if param {
		j.dst = binary.BigEndian.AppendUint32(j.dst, uint32(n))
	}
	j.dst = append(j.dst, j.values[:n]...)
	j.values = j.values[n:]
	return nil
}
