package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Block kinds. A reader must understand every upper-case kind and may skip
// lower-case ones, so that a later version can add without breaking.
const (
	kindStart      byte = 'S'
	kindDictionary byte = 'D'
	kindEvents     byte = 'E'
	kindReplies    byte = 'R'
	kindState      byte = 'T'
	kindGaps       byte = 'G'
	kindIndex      byte = 'I'
	kindCheckpoint byte = 'c' // who reads straight through needs none
)

const (
	headerSize = 64
	// maxStored bounds a block on disk and maxRaw what it decodes to, columns
	// together: no length read from a file makes a reader allocate more.
	maxStored = 64 << 20
	maxRaw    = 64 << 20
	// maxCount bounds the events or replies of a block: a block may say with a
	// dozen bytes that all of them are alike.
	maxCount = 1 << 16
	// maxHoles bounds the values of one event, maxSizes those of a block.
	maxHoles = 1 << 20
	maxSizes = 8 << 20
)

// magic is 0xF7 (in no text file, invalid as UTF-8), the name, and the major
// version as an ASCII digit.
var magic = [4]byte{0xF7, 'R', 'T', '0' + Version}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockHeader stands before every block; FORMAT.md, "Block header".
type blockHeader struct {
	kind    byte
	columns uint16
	stored  uint32
	count   uint32
	first   int64
	last    int64
	lanes   uint64
	tag     uint32 // of the segment
	number  uint32 // position in the segment
	needs   uint32 // dictionary entries before it
	body    uint32 // CRC-32C
}

// lane is the bit that a session sets in a block's lanes.
func lane(session uint64) uint64 { return 1 << (session & 63) }

// put writes the header, its own CRC last.
func (h *blockHeader) put(b []byte) {
	_ = b[headerSize-1]
	copy(b, magic[:])
	b[4], b[5] = h.kind, 0
	le := binary.LittleEndian
	le.PutUint16(b[6:], h.columns)
	le.PutUint32(b[8:], h.stored)
	le.PutUint32(b[12:], h.count)
	le.PutUint64(b[16:], uint64(h.first))
	le.PutUint64(b[24:], uint64(h.last))
	le.PutUint64(b[32:], h.lanes)
	le.PutUint32(b[40:], h.tag)
	le.PutUint32(b[44:], h.number)
	le.PutUint32(b[48:], h.needs)
	le.PutUint32(b[52:], 0)
	le.PutUint32(b[56:], h.body)
	le.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
}

// errNoHeader: these 64 bytes are not the header of a block.
var errNoHeader = errors.New("no block header")

// versionError is a block of a major version this package does not read.
type versionError struct{ digit byte }

func (e *versionError) Error() string {
	return fmt.Sprintf("trace of format version %q, this program reads version %q: use the retrace that wrote it or a newer one",
		e.digit, '0'+Version)
}

// parseHeader reads a header whose CRC holds, or says why these bytes are none.
func parseHeader(b []byte) (blockHeader, error) {
	var h blockHeader
	if len(b) < headerSize || b[0] != magic[0] || b[1] != magic[1] || b[2] != magic[2] {
		return h, errNoHeader
	}
	le := binary.LittleEndian
	if le.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli) {
		return h, errNoHeader
	}
	if b[3] != magic[3] {
		return h, &versionError{b[3]}
	}
	h = blockHeader{
		kind: b[4], columns: le.Uint16(b[6:]), stored: le.Uint32(b[8:]), count: le.Uint32(b[12:]),
		first: int64(le.Uint64(b[16:])), last: int64(le.Uint64(b[24:])), lanes: le.Uint64(b[32:]),
		tag: le.Uint32(b[40:]), number: le.Uint32(b[44:]), needs: le.Uint32(b[48:]), body: le.Uint32(b[56:]),
	}
	if b[5] != 0 || le.Uint32(b[52:]) != 0 {
		return h, fmt.Errorf("block %q uses a feature (flags %#x) that this program, of format version %d, does not know: use a newer retrace", h.kind, b[5], Version)
	}
	if h.stored > maxStored {
		return h, errNoHeader
	}
	return h, nil
}

// mayskip tells whether a reader that does not know the kind may pass over it.
func (h *blockHeader) maySkip() bool { return h.kind >= 'a' && h.kind <= 'z' }

func (h *blockHeader) known() bool {
	switch h.kind {
	case kindStart, kindDictionary, kindEvents, kindReplies, kindState, kindGaps, kindIndex:
		return true
	}
	return false
}

// maxStart bounds the JSON of a start block.
const maxStart = 64 << 10
