package capture

import "github.com/retrace-db/retrace/internal/wire/pg"

// held keeps, of a session that is dropped in the middle of a transaction, the
// requests that were not answered yet. When one of them proves to have ended the
// transaction it is recorded after all: a trace may lack the middle of a
// transaction, but not the COMMIT of a BEGIN it has.
type held struct {
	rows []row
	data []byte
}

// heldLimit bounds what one session can hold. A client that pipelines more than
// this in one transaction may lose its end.
const heldLimit = 32 << 10

// add keeps a copy of an event, or forgets everything if it is too much. COPY
// data is: it means that the statement before it was dropped, and ends nothing.
func (h *held) add(l *life, r *pg.Request) {
	w := requestRow(l, r)
	if r.Op == pg.OpCopy || len(h.data)+len(w.data) > heldLimit || len(h.rows) >= heldLimit/rowCost {
		h.drop()
		return
	}
	at := len(h.data)
	h.data = append(h.data, w.data...)
	w.data = h.data[at:len(h.data):len(h.data)]
	h.rows = append(h.rows, w)
}

func (h *held) drop() { *h = held{} }

// reply keeps the answer to an event. When that ends a request it is taken out
// and returned if the transaction ended with it, and forgotten if not.
func (h *held) reply(l *life, r *pg.Reply) []row {
	at := -1
	for i := range h.rows {
		if h.rows[i].kind == rowRequest && h.rows[i].ordinal == r.Ordinal {
			at = i
			break
		}
	}
	if at < 0 {
		return nil
	}
	// The answer goes right behind its event.
	answer := replyRow(l, r)
	h.rows = append(h.rows, row{})
	copy(h.rows[at+2:], h.rows[at+1:])
	h.rows[at+1] = answer
	if h.rows[at].flags&flagRequestEnd == 0 {
		return nil
	}
	request := h.rows[:at+2]
	h.rows = h.rows[at+2:]
	if len(h.rows) == 0 {
		h.drop()
	}
	if r.State != 'I' {
		return nil
	}
	return request
}

// endsCopy tells whether an event of COPY data brings the COPY to its end.
func endsCopy(b []byte) bool {
	for len(b) >= 5 {
		n := 1 + int(uint32(b[1])<<24|uint32(b[2])<<16|uint32(b[3])<<8|uint32(b[4]))
		if b[0] == 'c' || b[0] == 'f' {
			return true
		}
		if n < 5 || n > len(b) {
			return false
		}
		b = b[n:]
	}
	return false
}
