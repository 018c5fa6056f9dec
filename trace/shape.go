package trace

import (
	"encoding/binary"
	"errors"
)

// The tokens of a shape; FORMAT.md, "Shapes".
const (
	tokenMessage = 0x00
	tokenLiteral = 0x01
	tokenRaw     = 0x02
	tokenParam   = 0x03
)

var errShape = errors.New("shape is damaged")

// countHoles walks a shape and counts the values it needs.
func countHoles(shape []byte) (int, error) {
	holes := 0
	for len(shape) > 0 {
		token := shape[0]
		shape = shape[1:]
		switch token {
		case tokenMessage:
			if len(shape) < 1 {
				return 0, errShape
			}
			shape = shape[1:]
		case tokenLiteral:
			n, k := binary.Uvarint(shape)
			if k <= 0 || n > uint64(len(shape)-k) {
				return 0, errShape
			}
			shape = shape[k+int(n):]
		case tokenRaw, tokenParam:
			holes++
		default:
			return 0, errShape
		}
	}
	return holes, nil
}
