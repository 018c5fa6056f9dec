package pg

import (
	"encoding/binary"
)

// bind splits a Bind: names, formats and result formats stand, each parameter
// is a value. False leaves the shape as it was.
func (s *Splitter) bind(b []byte) bool {
	_, rest, ok := cstring(b)
	if !ok {
		return false
	}
	_, rest, ok = cstring(rest)
	if !ok {
		return false
	}
	rest, ok = formats(rest)
	if !ok {
		return false
	}
	return s.params(b, rest)
}

// call splits a FunctionCall, which has an object id where Bind has names.
func (s *Splitter) call(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	rest, ok := formats(b[4:])
	return ok && s.params(b, rest)
}

// formats skips a count and as many codes of two bytes.
func formats(b []byte) (rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, false
	}
	n := 2 + 2*int(binary.BigEndian.Uint16(b))
	if n > len(b) {
		return nil, false
	}
	return b[n:], true
}

// params splits the parameters at rest; what lies in b before their count and
// after them stands.
func (s *Splitter) params(b, rest []byte) bool {
	if len(rest) < 2 {
		return false
	}
	n := int(binary.BigEndian.Uint16(rest))
	rest = rest[2:]
	shape, sizes, values := len(s.shape), len(s.sizes), len(s.values)
	s.text(b[:len(b)-len(rest)])
	for range n {
		v, after, null, ok := param(rest)
		if !ok {
			s.shape, s.sizes, s.values = s.shape[:shape], s.sizes[:sizes], s.values[:values]
			return false
		}
		s.shape = append(s.shape, tokParam)
		if null {
			s.sizes = append(s.sizes, sizeNull)
		} else {
			s.sizes = append(s.sizes, uint64(len(v))+sizeBase)
			s.values = append(s.values, v...)
		}
		rest = after
	}
	s.text(rest)
	return true
}

// param takes one parameter off b.
func param(b []byte) (v, rest []byte, null, ok bool) {
	if len(b) < 4 {
		return nil, nil, false, false
	}
	n := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	switch {
	case n == -1:
		return nil, b, true, true
	case n < 0 || int(n) > len(b):
		return nil, nil, false, false
	}
	return b[:n], b[n:], false, true
}
