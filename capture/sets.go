package capture

import "encoding/binary"

// appendTexts packs a list of texts into a row's data.
func appendTexts(dst []byte, texts [][]byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(texts)))
	for _, t := range texts {
		dst = append(binary.AppendUvarint(dst, uint64(len(t))), t...)
	}
	return dst
}

// sets notes which SET statements are in force in a session.
func (e *encoder) sets(l *life, r *row) {
	inForce, rest := e.texts(r.data)
	open, _ := e.texts(rest)
	e.setsOf(l, inForce, open)
}

// texts unpacks a list. The sessions of a pool set the same things: they share
// the bytes.
func (e *encoder) texts(b []byte) (texts [][]byte, rest []byte) {
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		b = b[size:]
		return n
	}
	for range number() {
		n := number()
		texts = append(texts, e.messages.keep(b[:n]))
		b = b[n:]
	}
	return texts, b
}

func (e *encoder) setsOf(l *life, inForce, open [][]byte) {
	for _, list := range [...][][]byte{l.sets, l.openSets} {
		for _, t := range list {
			e.messages.release(t)
		}
	}
	l.sets, l.openSets = inForce, open
}
