package trace

import (
	"encoding/binary"
	"fmt"
	"math"
)

// opReason marks dictionary entries that hold an error code or another reason.
const opReason Op = 'r'

const (
	// A dictionary past one of these begins a new segment: statement texts
	// that never repeat must not grow it for ever.
	rollEntries = 65536
	rollBytes   = 16 << 20
	// A reader refuses a dictionary past these; the room between is what one
	// block's events may add before the segment can be closed.
	maxEntries   = 4 * rollEntries
	maxDictBytes = 4 * rollBytes
	maxEntry     = 16 << 20
)

// dictionary is the writer's side: ids by content, and the entries that no
// block holds yet.
type dictionary struct {
	ids      map[string]uint32
	pointers map[*Entry]uint32 // of other traces, for InternEntry
	reasons  map[string]uint32
	entries  []entryMeta
	size     int
	key      []byte
	fresh    freshEntries
}

// entryMeta is what the writer must know of an entry to take an event.
type entryMeta struct {
	op    Op
	holes int
	raw   int // length of the shape
}

// freshEntries are the columns of the next dictionary block.
type freshEntries struct {
	count                                    int
	op, prepare, typeCount, types            []byte
	shapeSize, shapeBytes, textSize, textByt []byte
}

func newDictionary() *dictionary {
	return &dictionary{ids: map[string]uint32{}, pointers: map[*Entry]uint32{}, reasons: map[string]uint32{}}
}

func (d *dictionary) full() bool { return len(d.entries) >= rollEntries || d.size >= rollBytes }

// Entries interned by shape and entries copied from another trace have keys of
// different kinds: a run's copies have no shape to tell them apart.
const (
	spaceShape  = 's'
	spaceEntry  = 'e'
	spaceReason = 'r'
)

// lookup finds the entry of this key; on a miss add takes it under the same key.
func (d *dictionary) lookup(space byte, op Op, prepare uint32, content []byte) (uint32, bool) {
	d.key = append(d.key[:0], space, byte(op))
	d.key = binary.LittleEndian.AppendUint32(d.key, prepare)
	d.key = append(d.key, content...)
	id, ok := d.ids[string(d.key)]
	return id, ok
}

// add appends an entry under the key that lookup just missed.
func (d *dictionary) add(op Op, prepare uint32, types []uint32, shape []byte, text string) (uint32, error) {
	holes, err := countHoles(shape)
	if err != nil {
		return 0, err
	}
	if holes > maxHoles {
		return 0, fmt.Errorf("shape of %d values, over %d: record the event as over the limit", holes, maxHoles)
	}
	if prepare > uint32(len(d.entries)) {
		return 0, fmt.Errorf("entry names prepare entry %d of %d: it is of another segment", prepare-1, len(d.entries))
	}
	if size := len(shape) + len(text) + 5*len(types); size > maxEntry {
		return 0, fmt.Errorf("dictionary entry of %d bytes, over %d: record the event as over the limit", size, maxEntry)
	} else if len(d.entries) >= maxEntries || d.size+size > maxDictBytes {
		return 0, fmt.Errorf("dictionary is full: %d entries, %d bytes", len(d.entries), d.size)
	} else {
		d.size += size + 16
	}
	id := uint32(len(d.entries))
	d.entries = append(d.entries, entryMeta{op, holes, len(shape)})
	d.ids[string(d.key)] = id
	d.fresh.add(op, prepare, types, shape, text)
	return id, nil
}

// take gives the id of an entry of another trace; dropShape is for runs. The
// pointer is remembered, so that asking again costs one look-up.
func (d *dictionary) take(e *Entry, prepare uint32, dropShape bool) (uint32, error) {
	shape := e.Shape
	if dropShape {
		shape = nil
	}
	content := binary.AppendUvarint(nil, uint64(len(shape)))
	content = append(content, shape...)
	for _, t := range e.Types {
		content = binary.LittleEndian.AppendUint32(content, t)
	}
	content = append(append(content, 0), e.Text...)
	id, ok := d.lookup(spaceEntry, e.Op, prepare, content)
	if !ok {
		var err error
		if id, err = d.add(e.Op, prepare, e.Types, shape, e.Text); err != nil {
			return 0, err
		}
	}
	if len(d.pointers) >= 2*rollEntries {
		clear(d.pointers) // entries of segments long read
	}
	d.pointers[e] = id
	return id, nil
}

// reason gives the id+1 of a reason, 0 for none.
func (d *dictionary) reason(s string) uint32 {
	if s == "" {
		return 0
	}
	if id, ok := d.reasons[s]; ok {
		return id + 1
	}
	d.lookup(spaceReason, opReason, 0, []byte(s))
	id, err := d.add(opReason, 0, nil, nil, s)
	if err != nil {
		return 0 // a full dictionary: the class alone is kept
	}
	d.reasons[s] = id
	return id + 1
}

func (f *freshEntries) add(op Op, prepare uint32, types []uint32, shape []byte, text string) {
	f.count++
	f.op = append(f.op, byte(op))
	f.prepare = appendUvarint(f.prepare, uint64(prepare))
	f.typeCount = appendUvarint(f.typeCount, uint64(len(types)))
	for _, t := range types {
		f.types = appendUvarint(f.types, uint64(t))
	}
	f.shapeSize = appendUvarint(f.shapeSize, uint64(len(shape)))
	f.shapeBytes = append(f.shapeBytes, shape...)
	f.textSize = appendUvarint(f.textSize, uint64(len(text)))
	f.textByt = append(f.textByt, text...)
}

func (f *freshEntries) size() int {
	return len(f.types) + len(f.shapeBytes) + len(f.textByt) + 5*f.count
}

func (f *freshEntries) reset() {
	*f = freshEntries{
		op: f.op[:0], prepare: f.prepare[:0], typeCount: f.typeCount[:0], types: f.types[:0],
		shapeSize: f.shapeSize[:0], shapeBytes: f.shapeBytes[:0], textSize: f.textSize[:0], textByt: f.textByt[:0],
	}
}

func (f *freshEntries) encode(b *body) {
	b.bytes(colShapeBytes, f.shapeBytes)
	b.bytes(colTextBytes, f.textByt)
	b.numbers(colOp, f.op)
	b.numbers(colPrepare, f.prepare)
	b.numbers(colTypeCount, f.typeCount)
	if len(f.types) > 0 {
		b.bytes(colType, f.types)
	}
	b.numbers(colShapeSize, f.shapeSize)
	b.numbers(colTextSize, f.textSize)
}

// words is the reader's side: the entries of one segment by id. A block that
// was lost leaves nil.
type words struct {
	entries []*Entry
	size    int
}

func (w *words) entry(id uint64) *Entry {
	if id < uint64(len(w.entries)) {
		return w.entries[id]
	}
	return nil
}

// reason is the text of a reason's id+1.
func (w *words) reason(ref uint64) (string, bool) {
	if ref == 0 {
		return "", true
	}
	if e := w.entry(ref - 1); e != nil {
		return e.Text, true
	}
	return "", false
}

// take reads a dictionary block.
func (w *words) take(h *blockHeader, dir *directory, d *decoder) error {
	if h.needs < uint32(len(w.entries)) {
		return fmt.Errorf("dictionary entries %d to %d come twice", h.needs, len(w.entries)-1)
	}
	if uint64(h.needs)+uint64(h.count) > maxEntries {
		return fmt.Errorf("dictionary of more than %d entries", maxEntries)
	}
	c, err := d.openEntries(dir, int(h.count))
	if err != nil {
		return err
	}
	if w.size+c.raw > maxDictBytes+maxRaw {
		return fmt.Errorf("dictionary of more than %d bytes", maxDictBytes)
	}
	w.size += c.raw
	d.wordBytes += c.raw
	for len(w.entries) < int(h.needs) {
		w.entries = append(w.entries, nil)
	}
	for range h.count {
		e, err := c.next(w)
		if err != nil {
			w.entries = w.entries[:h.needs]
			return err
		}
		w.entries = append(w.entries, e)
	}
	if err := c.done(); err != nil {
		w.entries = w.entries[:h.needs]
		return err
	}
	return nil
}

// entryColumns are the columns of a dictionary block being read.
type entryColumns struct {
	op, prepare, typeCount, types, shapeSize, textSize cursor
	shape, text                                        []byte
	raw                                                int
}

func (c *entryColumns) next(w *words) (*Entry, error) {
	e := &Entry{ID: uint32(len(w.entries)), Op: Op(c.op.next())}
	prepare, types := c.prepare.next(), c.typeCount.next()
	shape, text := c.shapeSize.next(), c.textSize.next()
	if prepare > uint64(e.ID) || types > uint64(len(c.types.b)) || shape > uint64(len(c.shape)) || text > uint64(len(c.text)) {
		return nil, fmt.Errorf("dictionary entry %d is damaged", e.ID)
	}
	if prepare > 0 {
		e.Prepare = w.entries[prepare-1]
	}
	for range types {
		t := c.types.next()
		if t > math.MaxUint32 {
			return nil, fmt.Errorf("dictionary entry %d is damaged", e.ID)
		}
		e.Types = append(e.Types, uint32(t))
	}
	e.Shape, c.shape = c.shape[:shape:shape], c.shape[shape:]
	e.Text, c.text = string(c.text[:text]), c.text[text:]
	var err error
	if e.Holes, err = countHoles(e.Shape); err != nil {
		return nil, fmt.Errorf("dictionary entry %d: %w", e.ID, err)
	}
	return e, nil
}

func (c *entryColumns) done() error {
	if c.op.done() && c.prepare.done() && c.typeCount.done() && c.types.done() && c.shapeSize.done() &&
		c.textSize.done() && len(c.shape) == 0 && len(c.text) == 0 {
		return nil
	}
	return fmt.Errorf("dictionary columns do not agree on their length")
}
