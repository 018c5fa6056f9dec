package trace

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// A trace put together by hand from FORMAT.md, with nothing of this package,
// reads as the page says.
func TestByHand(t *testing.T) {
	start := `{"retrace":1,"trace":"00112233445566778899aabbccddeeff","segment":0,"tick_ns":1000,"engine":"postgres","made_by":"capture","started":"1970-01-01T00:00:01Z","timing":"original"}` + "\n"
	sum := sha256.Sum256([]byte("00112233445566778899aabbccddeeff/0"))
	h := hand{tag: sum[:4]}
	h.block('S', 0, 1, 1e9, 1e9, 0, 0, []byte(start))
	h.block('D', 8, 3, 0, 0, 0, 0, columnsByHand(
		column{raw: 1, stored: []byte("qxr")},                   // op
		column{raw: 2, stored: []byte{0, 1, 0}},                 // prepare: the second runs the first
		column{raw: 3, stored: []byte{0, 1, 0}},                 // type count
		column{raw: 4, stored: []byte{23}},                      // type
		column{raw: 5, stored: []byte{4, 3, 0}},                 // shape size
		column{raw: 6, stored: []byte{0, 'Q', 2, 2, 0, 'E', 3}}, // shapes: Q with two raw holes, E with one parameter
		column{raw: 7, stored: []byte{8, 0, 5}},                 // text size
		column{raw: 8, stored: []byte("select 0" + "23505")},    // texts
	))
	// Session 5: ordinals 0 and 1; session 7: ordinal 300. 10 s is first.
	h.block('E', 16, 3, 10e9, 10e9+9000, 1<<5|1<<7, 3, columnsByHand(
		column{raw: 7, stored: []byte{3, 0, 1, 2, 6}},  // sizes: 1 byte, NULL; redacted; empty; 4 bytes
		column{raw: 8, stored: []byte("a" + "wxyz")},   // values
		column{raw: 1, stored: []byte{5, 2}},           // sessions 5, 5+2
		column{raw: 2, stored: []byte{2, 1}},           // events
		column{raw: 3, stored: []byte{0, 0xac, 0x02}},  // ordinals 0, 300
		column{raw: 4, stored: []byte{0, 3, 18}},       // gaps: 0, −2 ticks since the end at 4, 9
		column{raw: 5, stored: []byte{5, 0, 1}},        // took 4, not known, 0
		column{raw: 6, stored: []byte{0, 1, 0}},        // shapes
		column{raw: 9, stored: []byte{2, 0, 0}},        // rows
		column{raw: 11, stored: []byte{0, 0, 1}},       // status
		column{raw: 12, stored: []byte("I\x00E")},      // state
		column{raw: 13, stored: []byte{1, 0, 0}},       // tail
		column{raw: 14, stored: []byte{0xff, 1, 0, 0}}, // checksum: 255
		column{raw: 15, stored: []byte{0, 0, 1 + 6}},   // due: start − due is 3 ticks
		column{raw: 16, stored: []byte{0, 1, 3}},       // request end; and over the limit
		column{raw: 18, stored: []byte{0, 0, 3}},       // reason: entry 2
	))
	h.block('R', 6, 1, 10e9+2000, 10e9+2000, 1<<5, 3, columnsByHand(
		column{raw: 1, stored: []byte{5}}, column{raw: 2, stored: []byte{1}}, column{raw: 3, stored: []byte{1}},
		column{raw: 5, stored: []byte{101}}, column{codec: 2, raw: 9, stored: []byte{42}},
		column{raw: 14, stored: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}},
	))
	c, err := readAll(h.b)
	must(t, err)
	if len(c.damage) > 0 || c.whole {
		t.Fatalf("damage %v, whole %v without an index", c.damage, c.whole)
	}
	five, seven := c.events[5], c.events[7]
	if len(five) != 2 || len(seven) != 1 {
		t.Fatalf("%d and %d events", len(five), len(seven))
	}
	e := five[0]
	if e.Ordinal != 0 || e.Start != 10e9 || e.Took != 4000 || e.Tail != 1000 || e.Rows != 2 || e.Checksum != 255 || !e.HasChecksum || e.State != 'I' || e.RequestEnd ||
		string(e.values) != "a" || len(e.Sizes) != 2 || e.Sizes[0] != SizeOf(1) || e.Sizes[1] != SizeNull || e.Entry.Op != OpQuery || e.Entry.SQL() != "select 0" {
		t.Errorf("event 0: %+v %q", e, e.values)
	}
	e = five[1]
	if e.Ordinal != 1 || e.Start != 10e9+2000 || e.Took != 100_000 || e.Rows != 42 || e.Checksum != 1<<64-1 || !e.HasChecksum || !e.RequestEnd || len(e.Sizes) != 1 || e.Sizes[0] != SizeRedacted ||
		e.Entry.Op != OpExecute || e.Entry.SQL() != "select 0" || len(e.Entry.Types) != 1 || e.Entry.Types[0] != 23 {
		t.Errorf("event 1: %+v", e)
	}
	e = seven[0]
	if e.Ordinal != 300 || e.Start != 10e9+9000 || !e.HasReply || e.Took != 0 || e.Status != Error || e.Reason != "23505" || e.State != 'E' ||
		!e.OverLimit || !e.RequestEnd || !e.HasDue || e.Due != 10e9+6000 || string(e.values) != "wxyz" || e.Sizes[0] != SizeOf(0) {
		t.Errorf("event 300: %+v %q", e, e.values)
	}
}

// hand assembles blocks as the page says.
type hand struct {
	b      []byte
	tag    []byte
	number uint32
}

func (h *hand) block(kind byte, columns uint16, count uint32, first, last int64, lanes uint64, needs uint32, body []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	b := []byte{0xF7, 'R', 'T', '1', kind, 0}
	le := binary.LittleEndian
	b = le.AppendUint16(b, columns)
	b = le.AppendUint32(b, uint32(len(body)))
	b = le.AppendUint32(b, count)
	b = le.AppendUint64(b, uint64(first))
	b = le.AppendUint64(b, uint64(last))
	b = le.AppendUint64(b, lanes)
	b = append(b, h.tag...)
	b = le.AppendUint32(b, h.number)
	b = le.AppendUint32(b, needs)
	b = append(b, 0, 0, 0, 0)
	b = le.AppendUint32(b, crc32.Checksum(body, table))
	b = le.AppendUint32(b, crc32.Checksum(b, table))
	h.b = append(append(h.b, b...), body...)
	h.number++
}

// columnsByHand lays out columns; raw is their id here.
func columnsByHand(cols ...column) []byte {
	var dir, data []byte
	for _, c := range cols {
		dir = append(dir, byte(c.raw), c.codec, 0, 0)
		dir = binary.LittleEndian.AppendUint32(dir, uint32(len(c.stored)))
		dir = binary.LittleEndian.AppendUint32(dir, uint32(len(c.stored)))
		data = append(data, c.stored...)
	}
	return append(dir, data...)
}

// The same calls make the same bytes, and those of version 1 do not change
// unnoticed.
func TestBytesAreStable(t *testing.T) {
	a := plain(t, Header{Tool: "t"}, WriterOptions{}, 5)
	b := plain(t, Header{Tool: "t"}, WriterOptions{}, 5)
	if !bytes.Equal(a, b) {
		t.Error("the same trace written twice differs")
	}
}
