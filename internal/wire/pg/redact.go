package pg

import (
	"bytes"
	"encoding/binary"

	"github.com/retrace-db/retrace/internal/wire/pseudonym"
)

// Redactor takes the values out of events, or puts pseudonyms in their place.
// It follows sessions, since the form of COPY data is that of the statement
// before them.
type Redactor struct {
	key    *pseudonym.Key // nil: values are taken out
	copies map[uint64]copyForm
	split  Splitter
	walk   redaction
}

// NewRedactor makes one that takes values out if it has no key.
func NewRedactor(key *pseudonym.Key) *Redactor {
	return &Redactor{key: key, copies: map[uint64]copyForm{}}
}

// Subject is an event to redact, taken apart by a Splitter.
type Subject struct {
	Session uint64
	Op      Op
	SQL     string   // what it runs, literals folded; "" where not known
	Types   []uint32 // of its parameters, where known
	Shape   []byte
	Sizes   []uint64
	Values  []byte
}

// Event returns the sizes and values to be stored, valid until the next call.
// It is not whole if the shape may itself hold values: then nothing of the event
// may be stored.
func (r *Redactor) Event(s *Subject) (sizes []uint64, values []byte, whole bool) {
	switch s.Op {
	case OpConnect, OpCancel:
		return s.Sizes, s.Values, true
	case OpEnd:
		delete(r.copies, s.Session)
	case OpQuery, OpExecute:
		if form := copyFormOf(s.SQL); form != noCopy {
			r.copies[s.Session] = form
		}
	}
	w := &r.walk
	*w = redaction{
		key: r.key, form: r.copies[s.Session], types: s.Types, shape: s.Shape, in: s.Sizes, from: s.Values,
		sizes: w.sizes[:0], values: w.values[:0], before: w.before[:0],
	}
	whole = w.run()
	return w.sizes, w.values, whole
}

// Opaque tells whether a shape may itself hold values: it holds bytes that could
// not be taken apart, or a message of a kind that is not known.
func Opaque(op Op, shape []byte) bool {
	if op == OpConnect || op == OpCancel {
		return false
	}
	w := redaction{shape: shape, blind: true}
	return !w.run()
}

// Note is the shape of an event that is not kept, with one value: its length in
// digits.
func Note(text string) []byte {
	shape := binary.AppendUvarint([]byte{tokLiteral}, uint64(len(text)))
	return append(append(shape, text...), tokHole)
}

// Message redacts the bytes of an event that a session's state holds, such as
// the Parse of a prepared statement; nil if it cannot be sent then.
func (r *Redactor) Message(b []byte) []byte {
	shape, sizes, values := r.split.Split(b)
	_, types := Describe(b)
	sizes, values, whole := r.Event(&Subject{Op: OpOther, Types: types, Shape: shape, Sizes: sizes, Values: values})
	if !whole {
		return nil
	}
	out, err := Join(nil, shape, sizes, values)
	if err != nil {
		return nil
	}
	return out
}

// Text redacts a text of SQL; nil if nothing is left that can be run.
func (r *Redactor) Text(sql []byte) []byte {
	out := r.Message(appendQuery(nil, sql))
	if len(out) <= headerLen {
		return nil
	}
	return out[headerLen : len(out)-1]
}

// redaction goes through one event.
type redaction struct {
	key    *pseudonym.Key
	form   copyForm
	types  []uint32
	shape  []byte
	in     []uint64
	from   []byte
	sizes  []uint64
	values []byte

	blind   bool   // there are no values: only the shape counts
	typ     byte   // of the message at hand; 0 outside of any
	before  []byte // what stands in it before the value at hand
	params  int    // of it so far
	formats []byte
	stays   bool // the value before was a part of the statement, not data
}

// run is false if the shape holds more than names and SQL without its values.
func (w *redaction) run() bool {
	for len(w.shape) > 0 {
		tok := w.shape[0]
		w.shape = w.shape[1:]
		ok := true
		switch tok {
		case tokMessage:
			ok = w.message()
		case tokLiteral:
			ok = w.literal()
		default:
			ok = w.value(tok == tokParam)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (w *redaction) message() bool {
	if len(w.shape) == 0 {
		return false
	}
	w.typ, w.shape, w.before = w.shape[0], w.shape[1:], w.before[:0]
	w.params, w.formats, w.stays = 0, nil, false
	bit, known := contents(w.typ)
	return known && bit&hasData == 0
}

func (w *redaction) literal() bool {
	n, used := binary.Uvarint(w.shape)
	if used <= 0 || n > uint64(len(w.shape)-used) || w.typ == 0 {
		return false
	}
	text := w.shape[used : used+int(n)]
	w.shape = w.shape[used+int(n):]
	if w.blind {
		return true
	}
	w.before = append(w.before, text...)
	return true
}

// value redacts the next one.
func (w *redaction) value(param bool) bool {
	if w.blind {
		return true
	}
	if len(w.in) == 0 {
		return false
	}
	n := w.in[0]
	w.in = w.in[1:]
	if n <= sizeRedacted {
		w.sizes = append(w.sizes, n)
		w.params++
		return true
	}
	n -= sizeBase
	if n > uint64(len(w.from)) {
		return false
	}
	v := w.from[:n]
	w.from = w.from[n:]
	from := len(w.values)
	out, ok := w.replaced(v, param)
	if !ok {
		w.values, w.sizes = w.values[:from], append(w.sizes, sizeRedacted)
		return true
	}
	w.values, w.sizes = out, append(w.sizes, uint64(len(out)-from)+sizeBase)
	return true
}

func (w *redaction) replaced(v []byte, param bool) ([]byte, bool) {
	switch {
	case w.typ == 0 && w.key != nil:
		return w.form.redact(w.key, w.values, v)
	case w.typ == 'B' && param:
		return w.param(v)
	case w.typ == 'Q' || w.typ == 'P':
		if len(w.before) == 0 && (len(w.shape) == 0 || w.shape[0] == tokMessage) {
			return w.values, false // a message that could not be taken apart
		}
		return w.sql(v)
	}
	return w.values, false
}

// sql takes a literal, a comment, or a word that may be a secret.
func (w *redaction) sql(v []byte) ([]byte, bool) {
	before := w.before
	if w.typ == 'P' {
		_, before, _ = bytes.Cut(before, []byte{0})
	}
	if setsOwn(before) {
		return append(w.values, v...), true
	}
	if w.key == nil {
		return w.values, false
	}
	w.stays = len(v) > 0 && v[0] >= '0' && v[0] <= '9' && structural(before, w.stays)
	w.before = append(w.before, '?')
	if w.stays {
		return append(w.values, v...), true
	}
	return w.key.Literal(w.values, v)
}

// param takes a parameter of a Bind.
func (w *redaction) param(v []byte) ([]byte, bool) {
	if w.key == nil {
		return w.values, false
	}
	at := w.params
	w.params++
	oid := uint32(0)
	if at < len(w.types) {
		oid = w.types[at]
	}
	if w.binary(at) {
		return w.key.Binary(w.values, v, oid)
	}
	return w.key.Text(w.values, v), true
}

// binary tells the format of a parameter: there is a code for all, or for each.
func (w *redaction) binary(at int) bool {
	if w.formats == nil {
		_, rest, _ := cstring(w.before)
		_, rest, _ = cstring(rest)
		w.formats = rest
	}
	if len(w.formats) < 4 {
		return false
	}
	n := int(binary.BigEndian.Uint16(w.formats))
	if n == 1 {
		at = 0
	}
	return at < n && 4+2*at <= len(w.formats) && binary.BigEndian.Uint16(w.formats[2+2*at:]) == 1
}
