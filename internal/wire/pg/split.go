package pg

import (
	"bytes"
	"encoding/binary"

	"github.com/retrace-db/retrace/internal/wire/sqltext"
)

// Tokens of a shape (trace/FORMAT.md, "Shapes").
const (
	tokMessage = 0x00 // and a type byte: a message begins, its length is recomputed
	tokLiteral = 0x01 // and a uvarint n and n bytes, which stand as they are
	tokHole    = 0x02 // the next value's bytes
	tokParam   = 0x03 // the next value with an int32 length before it; −1 if NULL
)

// Sizes of values: 0 is NULL, 1 is redacted, else the length and sizeBase.
const (
	sizeNull     = 0
	sizeRedacted = 1
	sizeBase     = 2
)

// Splitter takes events apart into shape and values. Its buffers are used
// again: a Splitter allocates nothing once it has seen the longest event.
type Splitter struct {
	shape    []byte
	sizes    []uint64
	values   []byte
	scratch  []byte
	scan     sqltext.Literals
	secrecy  sqltext.Secrecy
	revealed bool
}

// Split returns the shape of an event of whole messages, the sizes of its
// values and the values end to end, all valid until the next call. Join puts
// them together again; that is checked here, and what cannot be taken apart
// becomes a shape without holes.
func (s *Splitter) Split(b []byte) (shape []byte, sizes []uint64, values []byte) {
	s.shape, s.sizes, s.values = s.shape[:0], s.sizes[:0], s.values[:0]
	s.secrecy, s.revealed = 0, false
	if s.messages(b) {
		var err error
		s.scratch, err = Join(s.scratch[:0], s.shape, s.sizes, s.values)
		if err == nil && bytes.Equal(s.scratch, b) {
			return s.shape, s.sizes, s.values
		}
	}
	s.shape, s.sizes, s.values = s.shape[:0], s.sizes[:0], s.values[:0]
	s.text(b)
	return s.shape, s.sizes, s.values
}

// Secret reports whether the SQL of the last event split may hold a password,
// a token or a key. Its values must not be stored then.
func (s *Splitter) Secret() bool {
	if s.secrecy&sqltext.Secret != 0 {
		return true
	}
	if s.secrecy != 0 && !s.revealed {
		s.reveal()
	}
	return s.revealed
}

// reveal looks into the values of the rare texts that are secret if those are.
func (s *Splitter) reveal() {
	at := 0
	for _, n := range s.sizes {
		if n > sizeBase {
			v := s.values[at : at+int(n-sizeBase)]
			at += len(v)
			s.revealed = s.revealed || s.secrecy.Reveals(v)
		}
	}
}

// messages splits all messages; false if b is not made of whole ones.
func (s *Splitter) messages(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	if bit, _ := contents(b[0]); bit&hasData != 0 {
		// A run of COPY data is one value, framing included: its messages are
		// rows or buffers, and their number must not make it a shape of its own.
		s.hole(b)
		return true
	}
	for len(b) > 0 {
		typ, m, rest, err := cut(b)
		if err != nil {
			return false
		}
		s.shape = append(s.shape, tokMessage, typ)
		s.body(typ, m[headerLen:])
		b = rest
	}
	return true
}

// body splits one message.
func (s *Splitter) body(typ byte, b []byte) {
	switch typ {
	case 'B':
		if s.bind(b) {
			return
		}
	case 'P':
		if name, rest, ok := cstring(b); ok {
			if sql, _, ok := cstring(rest); ok {
				s.sql(b, len(name)+1, len(name)+1+len(sql))
				return
			}
		}
	case 'Q':
		if sql, tail, ok := cstring(b); ok && len(tail) == 0 {
			s.sql(b, 0, len(sql))
			return
		}
	case 'F':
		if s.call(b) {
			return
		}
	default:
		s.text(b)
		return
	}
	// What cannot be parsed is a value as a whole, so that it can be redacted.
	s.scanOnly(b)
	s.hole(b)
}

// text appends bytes that stand as they are.
func (s *Splitter) text(b []byte) {
	if len(b) == 0 {
		return
	}
	s.shape = append(s.shape, tokLiteral)
	if len(b) < 0x80 {
		s.shape = append(s.shape, byte(len(b)))
	} else {
		s.shape = binary.AppendUvarint(s.shape, uint64(len(b)))
	}
	s.shape = append(s.shape, b...)
}

// hole appends a value.
func (s *Splitter) hole(v []byte) {
	s.shape = append(s.shape, tokHole)
	s.sizes = append(s.sizes, uint64(len(v))+sizeBase)
	s.values = append(s.values, v...)
}

// sql splits a message whose SQL lies in b[from:to].
func (s *Splitter) sql(b []byte, from, to int) {
	s.scan.Reset(b[from:to])
	done := 0
	for {
		t, ok := s.scan.Next()
		if !ok {
			break
		}
		s.text(b[done : from+t.Start])
		s.hole(b[from+t.Start : from+t.End])
		done = from + t.End
	}
	s.secrecy |= s.scan.Secrecy()
	s.text(b[done:])
}

// scanOnly judges a text that cannot be split.
func (s *Splitter) scanOnly(b []byte) {
	s.scan.Reset(b)
	for _, ok := s.scan.Next(); ok; _, ok = s.scan.Next() {
	}
	s.secrecy |= s.scan.Secrecy()
}
