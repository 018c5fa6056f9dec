package pg

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrProtocol is what every fault of a stream wraps.
var ErrProtocol = errors.New("postgres protocol fault")

const (
	headerLen  = 5    // type byte and int32 length
	prefixLen  = 8192 // what is kept of a message too long to keep
	nameLen    = 63   // the server compares no more of a statement's name
	maxPending = 1 << 18
	maxHeld    = 8 << 20
	maxKey     = 4096
)

func fault(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
}

// header collects the five bytes that begin a message.
type header struct {
	b [headerLen]byte
	n int
}

// take moves bytes from b into the header and returns how many it took.
func (h *header) take(b []byte) int {
	n := copy(h.b[h.n:], b)
	h.n += n
	return n
}

func (h *header) whole() bool { return h.n == headerLen }

// parseHeader returns a message's type and the length of the body that follows.
// Lengths are numbers from a peer: nobody may allocate by them.
func parseHeader(b []byte) (typ byte, body int, err error) {
	n := int32(binary.BigEndian.Uint32(b[1:5]))
	if n < 4 {
		return 0, 0, fault("message %q has length %d", b[0], n)
	}
	return b[0], int(n) - 4, nil
}

// whole: m is a message, not only its beginning.
func whole(m []byte) bool {
	return uint64(binary.BigEndian.Uint32(m[1:5]))+1 == uint64(len(m))
}

// cstring splits b after its first NUL.
func cstring(b []byte) (s, rest []byte, ok bool) {
	for i, c := range b {
		if c == 0 {
			return b[:i], b[i+1:], true
		}
	}
	return b, nil, false
}

// key cuts a statement's or portal's name as the server does before it looks
// the name up.
func key(name []byte) []byte { return name[:min(len(name), nameLen)] }
