package trace

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// segmentWith is a start block followed by forged blocks, all checksums good.
func segmentWith(t testing.TB, blocks ...[]byte) []byte {
	b := plain(t, Header{}, WriterOptions{}, 0)
	start, err := parseHeader(b)
	must(t, err)
	out := bytes.Clone(b[:headerSize+int(start.stored)])
	for _, block := range blocks {
		out = append(out, block...)
	}
	return out
}

// forged is a block of the segment of segmentWith.
func forged(kind byte, count uint32, cols ...forgedColumn) []byte {
	h := blockHeader{kind: kind, count: count, lanes: math.MaxUint64, last: 1 << 40, tag: segmentTag(traceID, 0), number: 1, columns: uint16(len(cols))}
	var body []byte
	for _, c := range cols {
		body = append(body, c.id, c.codec, 0, 0)
		body = binary.LittleEndian.AppendUint32(body, c.raw)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(c.stored)))
	}
	for _, c := range cols {
		body = append(body, c.stored...)
	}
	return makeBlock(h, body)
}

type forgedColumn struct {
	id, codec byte
	raw       uint32
	stored    []byte
}

func repeated(id byte, v byte, n uint32) forgedColumn {
	return forgedColumn{id, codecRepeat, n, []byte{v}}
}

// bomb is a short zstd frame that decodes to so many zeros.
func bomb(t testing.TB, n int) []byte {
	e, err := zstd.NewWriter(nil)
	must(t, err)
	return e.EncodeAll(make([]byte, n), nil)
}

// allocated is how much memory f took from the heap, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// forgedCase is a segment whose second data block lies.
type forgedCase struct {
	name  string
	limit uint64 // on what reading it may allocate
	want  string // in the damage
	body  []byte // of the block; segment puts a dictionary before it
}

func forgedCases(t testing.TB) (cases []forgedCase, good []byte) {
	huge := bomb(t, 256<<20)
	big := bomb(t, 60<<20)
	entry := func(cols ...forgedColumn) []byte { return forged(kindDictionary, 1, cols...) }
	good = entry(forgedColumn{colOp, codecRaw, 1, []byte{'q'}}, repeated(colPrepare, 0, 1), repeated(colTypeCount, 0, 1),
		repeated(colShapeSize, 1, 1), forgedColumn{colShapeBytes, codecRaw, 1, []byte{tokenRaw}}, repeated(colTextSize, 0, 1), forgedColumn{colTextBytes, codecRaw, 0, nil})
	run := func(n uint32) []forgedColumn {
		return []forgedColumn{
			repeated(colSession, 1, 1),
			{colEvents, codecRepeat, uint32(len(binary.AppendUvarint(nil, uint64(n)))), binary.AppendUvarint(nil, uint64(n))},
			repeated(colOrdinal, 0, 1), repeated(colGap, 0, n), repeated(colShape, 0, n),
		}
	}
	with := func(n uint32, c ...forgedColumn) []byte { return forged(kindEvents, n, append(run(n), c...)...) }
	const room = 4 << 20
	return []forgedCase{
		{"column longer than the block", room, "longer than the block", longColumn()},
		{"directory longer than the block", room, "directory is longer", func() []byte {
			h := blockHeader{kind: kindEvents, count: 1, columns: 65535, tag: segmentTag(traceID, 0), number: 1}
			return makeBlock(h, []byte("short"))
		}()},
		{"raw length of 4 GiB", room, "decode to more than 64 MiB", with(1, forgedColumn{colRows, codecZstd, math.MaxUint32, huge})},
		{"raw lengths that add up", room, "decode to more than 64 MiB", with(1, forgedColumn{colRows, codecZstd, 40 << 20, big}, forgedColumn{colBytes, codecZstd, 40 << 20, big})},
		{"frame larger than announced", room, "size", with(1, forgedColumn{colRows, codecZstd, 10, huge})},
		{"raw length beyond what the frame can hold", room, "raw length", with(1, forgedColumn{colRows, codecZstd, 60 << 20, bomb(t, 10)})},
		{"frame smaller than announced", room, "raw length", with(1, forgedColumn{colRows, codecZstd, 100, bomb(t, 10)})},
		{"values of 60 MiB that nobody has", 150 << 20, "left over", with(1, forgedColumn{colValue, codecZstd, 60 << 20, big}, repeated(colSize, 0, 1))},
		{"four billion events", room, "more than 65536 events", forged(kindEvents, math.MaxUint32, run(1)...)},
		{"more events than columns", room, "damaged", forged(kindEvents, 60000, run(1)...)},
		{"run longer than the block", room, "damaged run", forged(kindEvents, 1, repeated(colSession, 1, 1), repeated(colEvents, 9, 1), repeated(colOrdinal, 0, 1), repeated(colGap, 0, 1), repeated(colShape, 0, 1))},
		{"endless empty runs", room, "damaged run", forged(kindEvents, 1, repeated(colSession, 1, 1), repeated(colEvents, 0, 1), repeated(colOrdinal, 0, 1), repeated(colGap, 0, 1), repeated(colShape, 0, 1))},
		{"unknown word", room, "dictionary entry it needs is lost", forged(kindEvents, 1, repeated(colSession, 1, 1), repeated(colEvents, 1, 1), repeated(colOrdinal, 0, 1), repeated(colGap, 0, 1), repeated(colShape, 100, 1))},
		{"time outside of the block", room, "time is outside", forged(kindEvents, 1, repeated(colSession, 1, 1), repeated(colEvents, 1, 1), repeated(colOrdinal, 0, 1), repeated(colGap, 1, 1), repeated(colShape, 0, 1))},
		{"took that overflows", room, "time is outside", with(1, forgedColumn{colTook, codecRepeat, 10, binary.AppendUvarint(nil, math.MaxUint64)})},
		{"number without end", room, "damaged repeat", with(1, forgedColumn{colRows, codecRepeat, 12, bytes.Repeat([]byte{0xff}, 12)})},
		{"more values than sizes", room, "values are missing", with(1, repeated(colSize, 0, 0), forgedColumn{colValue, codecRaw, 0, nil})},
		{"unknown codec", room, "unknown codec 9", with(1, forgedColumn{colRows, 9, 1, []byte{1}})},
		{"status of two bytes", room, "out of range", with(1, forgedColumn{colStatus, codecRepeat, 2, []byte{0x80, 0x02}})},
		{"late replies without number", room, "more than 65536 events", forged(kindReplies, math.MaxUint32, run(1)...)},
		{"records without number", room, "more than 65536", forged(kindGaps, math.MaxUint32, forgedColumn{colJSON, codecRaw, 3, []byte("{}\n")})},
		{"a million empty records", 8 << 20, "another number", forged(kindGaps, 1000, forgedColumn{colJSON, codecZstd, 3 << 20, bombOf(t, bytes.Repeat([]byte("{}\n"), 1<<20))})},
		{"record that is no JSON", room, "unexpected end", forged(kindState, 1, forgedColumn{colJSON, codecRaw, 2, []byte("{\n")})},
		{"dictionary of four billion", room, "dictionary of more than", forged(kindDictionary, math.MaxUint32, repeated(colOp, 'q', math.MaxUint32>>8))},
		{"dictionary without entries", room, "fewer entries", forged(kindDictionary, 100000, repeated(colOp, 'q', 1))},
		{"entry that prepares itself", room, "entry 0 is damaged", entry(repeated(colOp, 'q', 1), repeated(colPrepare, 1, 1), repeated(colTypeCount, 0, 1), repeated(colShapeSize, 0, 1), forgedColumn{colShapeBytes, 0, 0, nil}, repeated(colTextSize, 0, 1), forgedColumn{colTextBytes, 0, 0, nil})},
		{"shape longer than there is", room, "entry 0 is damaged", entry(repeated(colOp, 'q', 1), repeated(colPrepare, 0, 1), repeated(colTypeCount, 0, 1), repeated(colShapeSize, 99, 1), forgedColumn{colShapeBytes, 0, 0, nil}, repeated(colTextSize, 0, 1), forgedColumn{colTextBytes, 0, 0, nil})},
		{"types without number", room, "entry 0 is damaged", entry(repeated(colOp, 'q', 1), repeated(colPrepare, 0, 1), repeated(colTypeCount, 99, 1), repeated(colShapeSize, 0, 1), forgedColumn{colShapeBytes, 0, 0, nil}, repeated(colTextSize, 0, 1), forgedColumn{colTextBytes, 0, 0, nil})},
	}, good
}

// segment puts the block into a segment with a dictionary of one entry.
func (c *forgedCase) segment(t testing.TB, good []byte) []byte {
	if c.body[4] == kindDictionary {
		return segmentWith(t, c.body)
	}
	second := bytes.Clone(c.body)
	put32(second[44:], 2)
	return segmentWith(t, good, reseal(second))
}

// Lengths that lie are damage, and none makes the reader take memory that the
// input does not warrant.
func TestForgedLengths(t *testing.T) {
	cases, good := forgedCases(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := c.segment(t, good)
			var got *collected
			var err error
			if n := allocated(func() { got, err = readAll(b) }); n > c.limit {
				t.Errorf("read of %d bytes allocated %d", len(b), n)
			}
			must(t, err)
			if len(got.damage) != 1 || !strings.Contains(got.damage[0].What, c.want) {
				t.Errorf("damage %+v: want %q", got.damage, c.want)
			}
		})
	}
}

// longColumn is a block whose directory says more than the body has.
func longColumn() []byte {
	b := forged(kindEvents, 1, forgedColumn{colGap, codecRaw, 5, []byte("abcde")})
	put32(b[headerSize+8:], math.MaxUint32)
	put32(b[56:], crcOf(b[headerSize:]))
	return fixHead(b)
}

func bombOf(t testing.TB, b []byte) []byte {
	e, err := zstd.NewWriter(nil)
	must(t, err)
	return e.EncodeAll(b, nil)
}

// reseal makes the header checksum good again.
func reseal(b []byte) []byte {
	return rehead(fixHead(b), 0, func([]byte, []byte) {})
}

func fixHead(b []byte) []byte {
	put32(b[60:], crcOf(b[:60]))
	return b
}

// A block header may announce 64 MiB that never come.
func TestForgedStored(t *testing.T) {
	h := blockHeader{kind: kindEvents, count: 1, tag: segmentTag(traceID, 0), number: 1, stored: maxStored}
	head := make([]byte, headerSize)
	h.put(head)
	b := segmentWith(t, head, make([]byte, 100))
	if n := allocated(func() {
		c, err := readAll(b)
		must(t, err)
		if len(c.damage) != 1 || !strings.Contains(c.damage[0].What, "torn") {
			t.Errorf("damage %+v", c.damage)
		}
	}); n > 8<<20 {
		t.Errorf("allocated %d", n)
	}
}
