package trace

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Traces put together by hand from FORMAT.md: what the files in
// testdata/vectors hold. Numbers are written as the page says they stand in the
// file, so that one can follow them with the page beside.
func handVectors() map[string][]byte {
	codecs := codecsByHand(nil)
	return map[string][]byte{
		"replies": repliesByHand(),
		"codecs":  codecs.b,
		"run":     runByHand(),
		// The end of the second event block and the index are cut off.
		"torn": codecs.b[:codecs.at['E'+1]+headerSize+20],
		// A byte in the values of the first event block is another one.
		"damaged": flippedAt(codecs.b, codecs.at['E']+headerSize+13*12+2),
		// The same, and the values hold a whole trace and a forged block.
		"planted": plantedByHand(),
	}
}

func flippedAt(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x01
	return b
}

// hand assembles blocks as the page says.
type hand struct {
	b      []byte
	tag    []byte
	number uint32
	start  int          // of the segment
	at     map[byte]int // where the last block of a kind begins; the second E is at 'E'+1
	index  []handIndexed
}

type handIndexed struct {
	offset, stored uint64
	kind           byte
	count          uint32
	first, last    int64
	lanes          uint64
}

// segment begins a segment of a trace.
func (h *hand) segment(trace string, n int, rest string) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", trace, n))
	h.tag, h.number, h.start, h.index = sum[:4], 0, len(h.b), nil
	if h.at == nil {
		h.at = map[byte]int{}
	}
	at := int64(1e9) * int64(n+1)
	start := fmt.Sprintf(`{"retrace":1,"trace":"%s","segment":%d,"tick_ns":1000,"engine":"postgres","started":"1970-01-01T00:00:0%dZ","timing":"original",%s}`+"\n", trace, n, n+1, rest)
	h.block('S', 0, 1, at, at, 0, 0, []byte(start))
}

func (h *hand) block(kind byte, columns uint16, count uint32, first, last int64, lanes uint64, needs uint32, body []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	at := len(h.b)
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
	if _, ok := h.at[kind]; ok && kind == 'E' {
		kind++
	}
	h.at[kind] = at
	if b[4] != 'S' && b[4] != 'I' {
		h.index = append(h.index, handIndexed{uint64(at - h.start), uint64(len(body)), b[4], count, first, last, lanes})
	}
}

// end writes the index of the segment.
func (h *hand) end(needs uint32, first, last int64, totals string) {
	var offset, stored, kind, count, firsts, span, lanes []byte
	var lastOffset uint64
	var lastFirst int64
	all := uint64(0)
	for _, x := range h.index {
		offset = binary.AppendUvarint(offset, x.offset-lastOffset)
		stored = binary.AppendUvarint(stored, x.stored)
		kind = binary.AppendUvarint(kind, uint64(x.kind))
		count = binary.AppendUvarint(count, uint64(x.count))
		d := x.first - lastFirst
		firsts = binary.AppendUvarint(firsts, uint64(d<<1)^uint64(d>>63))
		span = binary.AppendUvarint(span, uint64(x.last-x.first))
		lanes = binary.LittleEndian.AppendUint64(lanes, x.lanes)
		lastOffset, lastFirst, all = x.offset, x.first, all|x.lanes
	}
	startBody := h.b[h.start+headerSize:]
	startBody = startBody[:bytes.IndexByte(startBody, '\n')+1]
	body := layOut(handColumn{1, 0, offset}, handColumn{2, 0, stored}, handColumn{3, 0, kind}, handColumn{4, 0, count},
		handColumn{5, 0, firsts}, handColumn{6, 0, span}, handColumn{7, 0, lanes}, handColumn{8, 0, []byte(totals)}, handColumn{9, 0, startBody})
	stands := uint64(len(body)) + 24
	body = binary.LittleEndian.AppendUint64(body, uint64(len(h.b)-h.start)+headerSize+stands)
	body = append(binary.LittleEndian.AppendUint64(body, stands), "TRACEEND"...)
	h.block('I', 9, uint32(len(h.index)), first, last, all, needs, body)
}

// handColumn is a column before compression; of codec 2, the numbers that it repeats.
type handColumn struct {
	id, codec byte
	raw       []byte
}

// layOut puts a directory before columns.
func layOut(cols ...handColumn) []byte {
	var dir, data []byte
	for _, c := range cols {
		stored := c.raw
		switch c.codec {
		case 1:
			z, _ := zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
			stored = z.EncodeAll(c.raw, nil)
		case 2:
			_, n := binary.Uvarint(c.raw)
			stored = c.raw[:n]
		}
		dir = append(dir, c.id, c.codec, 0, 0)
		dir = binary.LittleEndian.AppendUint32(dir, uint32(len(c.raw)))
		dir = binary.LittleEndian.AppendUint32(dir, uint32(len(stored)))
		data = append(data, stored...)
	}
	return append(dir, data...)
}

const (
	handTrace = "00112233445566778899aabbccddeeff"
	handRun   = "ffeeddccbbaa99887766554433221100"
)

// Late replies, a pipeline, NULL, redacted and empty values, an event over the
// limit, jumps in a session, a state, a gap; no index.
func repliesByHand() []byte {
	var h hand
	h.segment(handTrace, 0, `"made_by":"capture"`)
	h.block('T', 1, 1, 9_999_000_000, 9_999_000_000, 1<<5, 0, layOut(handColumn{1, 0, []byte(
		`{"session":5,"ordinal":0,"start_ns":9999000000,"database":"shop","user":"app","settings":{"application_name":"psql"},` +
			`"sets":["c2V0IHggPSAx"],"transaction":"open","statements":[{"name":"cw==","message":"UAAAAAA=","ordinal":7}]}` + "\n")}))
	h.block('D', 8, 8, 0, 0, 0, 0, layOut(
		handColumn{1, 0, []byte("qpxrqdrx")},             // op
		handColumn{2, 0, []byte{0, 0, 2, 0, 0, 0, 0, 0}}, // prepare: entry 2 runs entry 1
		handColumn{3, 0, []byte{0, 1, 2, 0, 0, 0, 0, 0}}, // types known
		handColumn{4, 0, []byte{23, 23, 25}},
		handColumn{5, 0, []byte{15, 3, 6, 0, 7, 1, 0, 6}}, // shape sizes
		handColumn{6, 0, []byte("" +
			"\x00Q\x01\x07select \x02\x01\x01\x00" + // a Query, its number and the NUL
			"\x00P\x02" + // a Parse of which everything is a value
			"\x00B\x03\x03\x00S" + // a Bind with two parameters, and a Sync
			"\x01\x04copy\x02" + // over the limit: what is known, and the length
			"\x02" + // COPY data
			"\x00B\x03\x03\x00S")},
		handColumn{7, 0, []byte{8, 9, 0, 5, 4, 0, 7, 5}}, // text sizes
		handColumn{8, 0, []byte("select 0" + "select $1" + "23505" + "copy" + "aborted" + "other")},
	))
	// Session 5 has the ordinals 0 to 3, session 7 300 and 302; 10 s is first.
	h.block('E', 16, 6, 10e9, 10e9+20_000, 1<<5|1<<7, 8, layOut(
		handColumn{7, 0, []byte{3, 4, 0, 1, 2, 4, 10, 6}}, // "1"; 2 bytes; NULL, redacted; "", "ab"; 8 digits; 4 bytes
		handColumn{8, 0, []byte("1" + "x\xff" + "ab" + "70000000" + "1\t2\n")},
		handColumn{1, 0, []byte{5, 2, 0}},                  // sessions 5, 7, 7
		handColumn{2, 0, []byte{4, 1, 1}},                  // events
		handColumn{3, 0, []byte{0, 0xac, 2, 0xae, 2}},      // ordinals 0, 300, 302
		handColumn{4, 0, []byte{0, 6, 2, 2, 18, 40}},       // 0; 3 after the end at 4; 1 after the start at 7; 1 after 8; 9; 20
		handColumn{5, 0, []byte{5, 0, 0, 0, 1, 1}},         // took 4; not known, three times; 0; 0
		handColumn{6, 0, []byte{0, 1, 2, 2, 4, 5}},         // shapes
		handColumn{9, 0, []byte{2, 0, 0, 0, 0, 0}},         // rows
		handColumn{10, 0, []byte{30, 0, 0, 0, 0xc8, 1, 0}}, // bytes: 30, 200
		handColumn{11, 0, []byte{0, 0, 0, 0, 1, 2}},        // status: error, skipped
		handColumn{12, 0, []byte("I\x00\x00\x00EE")},       // state
		handColumn{13, 0, []byte{1, 0, 0, 0, 0, 0}},        // tail
		handColumn{16, 0, []byte{1, 0, 1, 1, 3, 1}},        // request ends; one over the limit
		handColumn{17, 0, []byte{1, 0, 0, 0, 0, 0}},        // results
		handColumn{18, 0, []byte{0, 0, 0, 0, 4, 7}},        // reasons: entries 3 and 6
	))
	// The replies of 1 and 2: the second turned out to run something else. That
	// of 3 never comes.
	h.block('R', 9, 2, 10e9+7000, 10e9+8000, 1<<5, 8, layOut(
		handColumn{1, 0, []byte{5}}, handColumn{2, 0, []byte{2}}, handColumn{3, 0, []byte{1}},
		handColumn{5, 0, []byte{101, 0x97, 1}}, // took 100 and 150
		handColumn{6, 0, []byte{0, 8}},         // entry 7
		handColumn{9, 2, []byte{42, 42}},       // rows, repeated
		handColumn{12, 0, []byte("TI")}, handColumn{13, 0, []byte{0, 7}}, handColumn{17, 0, []byte{0, 1}},
	))
	h.block('G', 1, 1, 10e9+15_000, 10e9+15_000, 1<<7, 8, layOut(handColumn{1, 0, []byte(
		`{"session":7,"first":301,"last":301,"start_ns":10000015000,"why":"queue_full"}` + "\n")}))
	return h.b
}

// Every codec, a column and a kind of block that this version does not know,
// session ids past 2⁶³, an index. value replaces the first value.
func codecsByHand(value []byte) *hand {
	h := &hand{}
	if value == nil {
		value = []byte("0123456789")
	}
	h.segment(handTrace, 0, `"made_by":"capture","later":{"a":1}`)
	h.block('D', 6, 1, 0, 0, 0, 0, layOut(
		handColumn{1, 0, []byte("q")}, handColumn{5, 0, []byte{3}}, handColumn{6, 0, []byte("\x00Q\x02")},
		handColumn{7, 0, []byte{8}}, handColumn{8, 1, []byte("select 0")}, handColumn{250, 0, []byte("later")},
	))
	h.block('n', 0, 1, 0, 0, 0, 1, []byte("a note of a later version"))
	size := binary.AppendUvarint(nil, uint64(len(value))+2)
	h.block('E', 13, 2, 20e9, 20e9+2_000_000, 1<<0, 1, layOut(
		handColumn{7, 0, append(size, 2)},
		handColumn{8, 0, value},
		handColumn{1, 0, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}}, // 2⁶³
		handColumn{2, 0, []byte{2}}, handColumn{3, 0, []byte{0}},
		handColumn{4, 1, []byte{0, 0x9a, 0x1f}},                 // 0; 1997 after the end at 3
		handColumn{5, 2, []byte{4, 4}},                          // took 3, twice
		handColumn{6, 2, []byte{0, 0}},                          // entry 0
		handColumn{10, 1, []byte{0x80, 0x80, 4, 0x80, 0x80, 4}}, // 65536 bytes, twice
		handColumn{12, 2, []byte("II")}, handColumn{16, 2, []byte{1, 1}}, handColumn{17, 2, []byte{1, 1}},
		handColumn{200, 1, []byte("of a later version")},
	))
	h.block('E', 9, 1, 21e9, 21e9, 1<<0, 1, layOut(
		handColumn{7, 0, []byte{5}}, handColumn{8, 0, []byte("end")},
		handColumn{1, 0, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}},
		handColumn{2, 0, []byte{1}}, handColumn{3, 0, []byte{2}}, handColumn{4, 0, []byte{0}},
		handColumn{5, 0, []byte{0x81, 0x80, 0x80, 2}}, // took 2²² ticks
		handColumn{6, 0, []byte{0}}, handColumn{16, 0, []byte{1}},
	))
	h.end(1, 20e9, 25_194_304_000, `{"sessions":1,"events":3,"requests":3,"statements":3,"gaps":0,"missing":0,"left_out":0,"bytes":0,"first_ns":20000000000,"last_ns":25194304000}`)
	return h
}

// A value holds a whole trace and a block that claims to be of this one but has
// another tag. After damage to its block nothing of it may be taken for real.
func plantedByHand() []byte {
	forged := codecsByHand(nil)
	own := bytes.Clone(forged.b[forged.at['E'+1]:forged.at['I']])
	own[40] ^= 0xff // the tag cannot be guessed; its checksum can be made
	put32(own[60:], crc32.Checksum(own[:60], crc32.MakeTable(crc32.Castagnoli)))
	h := codecsByHand(append(repliesByHand(), own...))
	return flippedAt(h.b, h.at['E']+headerSize+13*12+2)
}

// A run of two segments: when events were due, how they diverged, checksums,
// all classes of outcomes; no values. The second segment begins with a state.
func runByHand() []byte {
	run := fmt.Sprintf(`"made_by":"replay","run":{"source":"%s","pace":"original","speed":1}`, handTrace)
	var h hand
	h.segment(handRun, 0, run)
	h.block('D', 8, 4, 0, 0, 0, 0, layOut(
		handColumn{1, 0, []byte("qrrr")}, handColumn{3, 2, []byte{0, 0, 0, 0}}, handColumn{5, 2, []byte{0, 0, 0, 0}},
		handColumn{7, 0, []byte{8, 5, 9, 4}}, handColumn{8, 0, []byte("select 0" + "57014" + "not_asked" + "end\xff")},
		handColumn{2, 2, []byte{0, 0, 0, 0}}, handColumn{4, 0, nil}, handColumn{6, 0, nil},
	))
	h.block('E', 14, 4, 30e9, 30e9+3000, 1<<9, 4, layOut(
		handColumn{1, 0, []byte{9}}, handColumn{2, 0, []byte{4}}, handColumn{3, 0, []byte{0}},
		handColumn{4, 0, []byte{0, 1, 2, 0}}, // 0; −1: 1; 1 after the end at 2; 0 after the end at 3
		handColumn{5, 0, []byte{3, 2, 1, 1}}, // took 2, 1, 0, 0
		handColumn{6, 0, []byte{0, 0, 0, 0}},
		handColumn{9, 0, []byte{1, 0, 0, 0}}, handColumn{11, 0, []byte{0, 1, 3, 4}}, // ok, error, filtered, lost
		handColumn{14, 0, append(bytes.Repeat([]byte{0xff}, 9), 1, 0, 0, 0)}, // checksum 2⁶⁴−1
		handColumn{15, 0, []byte{1, 3, 2, 0}},                                // due: at the start; 1 before; 1 after; none
		handColumn{16, 0, []byte{0, 1, 1, 1}}, handColumn{17, 0, []byte{1, 0, 0, 0}},
		handColumn{18, 0, []byte{0, 2, 3, 0}}, handColumn{19, 0, []byte{4, 3, 0, 1}}, // diverged: checksum; status and rows; no; status
	))
	h.block('G', 1, 2, 30e9, 30e9, 1<<9|1<<0, 4, layOut(handColumn{1, 0, []byte(
		`{"session":9,"first":4,"last":9,"start_ns":30000000000,"why":"off","left_out":true}` + "\n" +
			`{"session":0,"first":1,"last":12,"start_ns":30000000000,"why":"too many"}` + "\n")}))
	h.end(4, 30e9, 30e9+3000, `{"sessions":1,"events":4,"requests":3,"statements":4,"gaps":1,"missing":12,"left_out":6,"bytes":0,"first_ns":30000000000,"last_ns":30000003000}`)
	h.segment(handRun, 1, `"continues":true,`+run)
	h.block('T', 1, 1, 29e9, 29e9, 1<<9, 0, layOut(handColumn{1, 0, []byte(
		`{"session":9,"ordinal":10,"start_ns":29000000000,"database":"","user":"` + strings.Repeat("u", 3) + `","transaction":"idle","omitted":2}` + "\n")}))
	h.block('D', 6, 2, 0, 0, 0, 0, layOut(handColumn{1, 0, []byte("er")}, handColumn{5, 0, []byte{0, 0}}, handColumn{7, 0, []byte{0, 7}},
		handColumn{8, 0, []byte("drained")}, handColumn{3, 0, []byte{0, 0}}, handColumn{6, 0, nil}))
	h.block('E', 9, 1, 31e9, 31e9, 1<<9, 2, layOut(
		handColumn{1, 0, []byte{9}}, handColumn{2, 0, []byte{1}}, handColumn{3, 0, []byte{10}}, handColumn{4, 0, []byte{0}},
		handColumn{5, 0, []byte{1}}, handColumn{6, 0, []byte{0}}, handColumn{11, 0, []byte{5}}, handColumn{18, 0, []byte{2}}, handColumn{16, 0, []byte{1}},
	))
	h.end(2, 31e9, 31e9, `{"sessions":0,"events":1,"requests":1,"statements":0,"gaps":0,"missing":0,"left_out":0,"bytes":0,"first_ns":31000000000,"last_ns":31000000000}`)
	return h.b
}
