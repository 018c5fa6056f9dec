package pg

// reader puts together one message (or start packet) at a time from a stream
// cut anywhere. It keeps no more of it than it was told to.
type reader struct {
	head  header
	start int64 // when the first byte was read
	typ   byte
	body  int    // length of the body
	left  int    // of the body, still to come
	keep  int    // of the body, wanted
	data  []byte // of the body, kept: valid until the next message
	buf   []byte // holds data if the body came in pieces
}

func (r *reader) idle() bool { return r.head.n == 0 }

// begin reads the header and reports how much of b it took, and whether the
// header is whole.
func (r *reader) begin(b []byte, now int64) (n int, ok bool, err error) {
	if r.head.n == 0 {
		r.start = now
	}
	whole := b
	if r.head.n == 0 && len(b) >= headerLen {
		r.head.b, r.head.n, n = [headerLen]byte(b), headerLen, headerLen
	} else if n, whole = r.head.take(b), r.head.b[:]; !r.head.whole() {
		return n, false, nil
	}
	// Not from r.head where b will do: reading what was just written, in other
	// pieces, stalls.
	r.typ, r.body, err = parseHeader(whole)
	r.left, r.keep, r.data = r.body, 0, nil
	return n, err == nil, err
}

// read takes what b has of the body and reports whether that is all of it.
func (r *reader) read(b []byte) (n int, ok bool) {
	n = min(r.left, len(b))
	if n == r.left && r.left == r.body { // in one piece: no copy
		r.data = b[:min(n, r.keep)]
	} else if room := r.keep - (r.body - r.left); room > 0 {
		if r.left == r.body {
			r.buf = r.buf[:0]
		}
		r.buf = append(r.buf, b[:min(n, room)]...)
		r.data = r.buf
	}
	r.left -= n
	return n, r.left == 0
}

// hold makes data outlive the bytes it was read from.
func (r *reader) hold() {
	r.buf = append(r.buf[:0], r.data...)
	r.data = r.buf
}

// next is ready for another message.
func (r *reader) next() {
	r.head.n = 0
	r.data = nil
	if cap(r.buf) > 2*prefixLen {
		r.buf = nil
	}
}

// held are bytes of the server that came before the requests they answer.
type held struct {
	buf   []byte
	at    int
	marks []mark
}

// mark says that the bytes up to end were read at now.
type mark struct {
	end int
	now int64
}

func (h *held) add(b []byte, now int64) error {
	if len(h.buf)-h.at+len(b) > maxHeld {
		return fault("the server sent more than %d bytes that answer nothing", maxHeld)
	}
	h.buf = append(h.buf, b...)
	h.marks = append(h.marks, mark{len(h.buf), now})
	return nil
}

// compact gives up the bytes that have been read.
func (h *held) compact() {
	if len(h.marks) == 0 {
		if cap(h.buf) > 2*prefixLen {
			h.buf = nil
		}
		h.buf, h.at = h.buf[:0], 0
		return
	}
	if h.at < len(h.buf)/2 {
		return
	}
	h.buf = h.buf[:copy(h.buf, h.buf[h.at:])]
	for i := range h.marks {
		h.marks[i].end -= h.at
	}
	h.at = 0
}
