package pg

import (
	"encoding/binary"
	"fmt"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
)

// Describe returns what a dictionary entry shows of an event: its SQL with the
// literals folded (numbers 0, strings ”, comments gone), empty if it holds
// none, and the parameter types that its Parse declares.
func Describe(b []byte) (text string, types []uint32) {
	for len(b) > 0 {
		typ, m, rest, err := cut(b)
		if err != nil {
			break
		}
		body := m[headerLen:]
		switch typ {
		case 'Q':
			sql, _, _ := cstring(body)
			return string(sqltext.Fold(nil, sql)), nil
		case 'P':
			_, after, _ := cstring(body)
			sql, after, _ := cstring(after)
			return string(sqltext.Fold(nil, sql)), declared(after)
		case 'F':
			if len(body) >= 4 {
				return fmt.Sprintf("function %d", binary.BigEndian.Uint32(body)), nil
			}
		}
		b = rest
	}
	return "", nil
}

// declared reads a Parse's parameter types.
func declared(b []byte) []uint32 {
	if len(b) < 2 {
		return nil
	}
	n := min(int(binary.BigEndian.Uint16(b)), (len(b)-2)/4)
	if n == 0 {
		return nil
	}
	types := make([]uint32, n)
	for i := range types {
		types[i] = binary.BigEndian.Uint32(b[2+4*i:])
	}
	return types
}
