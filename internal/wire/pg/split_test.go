package pg

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgproto3/v2"
)

// show prints a shape: message types, literals in quotes, ? for a value's
// hole, $ for a parameter's.
func show(shape []byte) string {
	var b strings.Builder
	for len(shape) > 0 {
		switch shape[0] {
		case tokMessage:
			fmt.Fprintf(&b, "%c", shape[1])
			shape = shape[2:]
		case tokLiteral:
			n, used := uvarint(shape[1:])
			fmt.Fprintf(&b, "%q", shape[1+used:1+used+n])
			shape = shape[1+used+n:]
		case tokHole:
			b.WriteByte('?')
			shape = shape[1:]
		case tokParam:
			b.WriteByte('$')
			shape = shape[1:]
		}
	}
	return b.String()
}

func uvarint(b []byte) (n, used int) {
	for shift := 0; ; shift += 7 {
		n |= int(b[used]&0x7f) << shift
		used++
		if b[used-1] < 0x80 {
			return n, used
		}
	}
}

func event(t testing.TB, messages string) []byte {
	t.Helper()
	var b []byte
	for m := range strings.SplitSeq(messages, " | ") {
		b = append(b, frontend(t, m)...)
	}
	return b
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		event  []byte
		shape  string
		sizes  []uint64
		values string
	}{
		{event(t, "Q:select 1, 'a' -- c\n, $1"), `Q"select "?", "?" "?"\n, $1\x00"`, []uint64{3, 5, 6}, "1'a'-- c"},
		{event(t, "Q:"), `Q"\x00"`, nil, ""},
		{event(t, "Q:1"), `Q?"\x00"`, []uint64{3}, "1"},
		{event(t, "P:s1:select -5 | D:S:s1 | S"), `P"s1\x00select "?"\x00\x00\x00"D"Ss1\x00"S`, []uint64{4}, "-5"},
		{event(t, "B:p:s:abc,d | D:P:p | E:p:7 | S"), `B"p\x00s\x00\x00\x00\x00\x02"$$"\x00\x00"D"Pp\x00"E"p\x00\x00\x00\x00\a"S`, []uint64{5, 3}, "abcd"},
		{
			encode(t, &pgproto3.Bind{Parameters: [][]byte{nil, {}, {0, 255, 0}}, ParameterFormatCodes: []int16{1, 0, 1}, ResultFormatCodes: []int16{1}}),
			`B"\x00\x00\x00\x03\x00\x01\x00\x00\x00\x01\x00\x03"$$$"\x00\x01\x00\x01"`,
			[]uint64{0, 2, 5},
			"\x00\xff\x00",
		},
		{event(t, "F"), `F"\x00\x00\x06>\x00\x00\x00\x02"$$"\x00\x00"`, []uint64{4, 0}, "ab"},
		{event(t, "d:one | d:two | c | S"), `?`, []uint64{2 + 8 + 8 + 5 + 5}, "d\x00\x00\x00\x07oned\x00\x00\x00\x07twoc\x00\x00\x00\x04S\x00\x00\x00\x04"},
		{event(t, "C:S:a | H | X"), `C"Sa\x00"HX`, nil, ""},
		// bodies that make no sense are values, whole
		{[]byte("Q\x00\x00\x00\x0aab\x00c\x00\x00"[:11]), `Q?`, []uint64{2 + 6}, "ab\x00c\x00\x00"},
		{[]byte("Q\x00\x00\x00\x06ab"), `Q?`, []uint64{4}, "ab"},
		{[]byte("P\x00\x00\x00\x06ab"), `P?`, []uint64{4}, "ab"},
		{[]byte("B\x00\x00\x00\x10\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00"), `B?`, []uint64{14}, "\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00"},
		// and what is not made of messages stands as it is
		{[]byte("Q\x00\x00\x00\x09ab"), `"Q\x00\x00\x00\tab"`, nil, ""},
		{[]byte("S\x00\x00\x00\x04Q"), `"S\x00\x00\x00\x04Q"`, nil, ""},
		{[]byte{}, ``, nil, ""},
	} {
		var s Splitter
		shape, sizes, values := s.Split(c.event)
		if got := show(shape); got != c.shape || fmt.Sprint(sizes) != fmt.Sprint(c.sizes) && len(c.sizes) > 0 || string(values) != c.values {
			t.Errorf("%q\n got %s %v %q\nwant %s %v %q", c.event, got, sizes, values, c.shape, c.sizes, c.values)
		}
		joined, err := Join(nil, shape, sizes, values)
		if err != nil || !bytes.Equal(joined, c.event) {
			t.Errorf("%q joined: %q, %v", c.event, joined, err)
		}
	}
}

// Values differ, the shape does not: that is what makes a trace small.
func TestShapesAreShared(t *testing.T) {
	for _, pair := range [][2]string{
		{"Q:select abalance from a where aid = 7;", "Q:select abalance from a where aid = 1234567;"},
		{"B::P_0:7 | D:P: | E: | S", "B::P_0:1234567 | D:P: | E: | S"},
		{"Q:select 'a' /* trace 1 */", "Q:select E'it\\'s' /* trace 22 */"},
		{"d:a | d:b | c", "d:aaaa | c | S"},
		{"Q:update t set a = a + -5 where b = $$x$$", "Q:update t set a = a + 512 where b = 'yy'"},
	} {
		var s Splitter
		one, _, _ := s.Split(event(t, pair[0]))
		one = bytes.Clone(one)
		if two, _, _ := s.Split(event(t, pair[1])); !bytes.Equal(one, two) {
			t.Errorf("%s\n%s\n%s", pair, show(one), show(two))
		}
	}
}

// PG-13, PG-21: what the independent library encodes it decodes from what
// Join returns.
func TestJoinIsUnderstoodByOthers(t *testing.T) {
	many := &pgproto3.Bind{PreparedStatement: "s"}
	for i := range 65535 {
		many.Parameters = append(many.Parameters, []byte(fmt.Sprint(i)))
	}
	for _, m := range []interface {
		encoder
		Decode([]byte) error
	}{
		many,
		&pgproto3.Bind{ParameterFormatCodes: []int16{0, 1}, Parameters: [][]byte{[]byte("abcdefghijklmn"), nil}},
		&pgproto3.Bind{ParameterFormatCodes: []int16{1}, Parameters: [][]byte{{}, {0}, {0, 255, 0}, nil}, ResultFormatCodes: []int16{0, 1}},
		&pgproto3.Parse{Name: "x", Query: "select '\xff\xfe', 1e-5 /* a */ from \"T\" where x in (1, -2, 'it''s')", ParameterOIDs: []uint32{23, 71021}},
		&pgproto3.Query{String: "insert into t values (" + strings.Repeat("'x',1,", 5000) + "0)"},
		&pgproto3.FunctionCall{Function: 7, ArgFormatCodes: []uint16{1}, Arguments: [][]byte{{}, []byte("x")}, ResultFormatCode: 1},
	} {
		wire := encode(t, m)
		var s Splitter
		shape, sizes, values := s.Split(wire)
		if bytes.Equal(shape, wire) || len(sizes) == 0 {
			t.Fatalf("%T was not split", m)
		}
		joined, err := Join([]byte("before"), shape, sizes, values)
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprintf("%v", m)
		if err := m.Decode(joined[len("before")+headerLen:]); err != nil {
			t.Fatal(err)
		}
		if after := fmt.Sprintf("%v", m); after != before {
			t.Errorf("%T: %.200s became %.200s", m, before, after)
		}
	}
}

func TestJoinRefuses(t *testing.T) {
	lit := func(n ...byte) []byte { return append([]byte{tokLiteral}, n...) }
	for _, c := range []struct {
		what   string
		shape  []byte
		sizes  []uint64
		values string
	}{
		{"unknown token", []byte{9}, nil, ""},
		{"no type", []byte{tokMessage}, nil, ""},
		{"literal beyond the shape", lit(5, 'a'), nil, ""},
		{"literal of 2^64-1", lit(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), nil, ""},
		{"endless length", lit(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), nil, ""},
		{"no length", lit(), nil, ""},
		{"more holes than values", []byte{tokHole}, nil, ""},
		{"more values than holes", []byte{tokMessage, 'S'}, []uint64{2}, ""},
		{"bytes left over", []byte{tokHole}, []uint64{3}, "ab"},
		{"value beyond the values", []byte{tokHole}, []uint64{5}, "ab"},
		{"value of 2^64-1", []byte{tokParam}, []uint64{1<<64 - 1}, "ab"},
		{"NULL that is no parameter", []byte{tokHole}, []uint64{0}, ""},
	} {
		got, err := Join([]byte("x"), c.shape, c.sizes, []byte(c.values))
		if err == nil || string(got) != "x" {
			t.Errorf("%s: got %q, %v", c.what, got, err)
		}
	}
	if _, err := Join(nil, []byte{tokMessage, 'Q', tokHole}, []uint64{sizeRedacted}, nil); !errors.Is(err, ErrRedacted) {
		t.Errorf("a redacted value: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		event []byte
		text  string
		types []uint32
	}{
		{event(t, "Q:select 'a', -1 /* b */ from t -- c"), "select '', 0 from t ", nil},
		{encode(t, &pgproto3.Parse{Query: "select $1 + 1", ParameterOIDs: []uint32{23, 71021}}), "select $1 + 0", []uint32{23, 71021}},
		{event(t, "B::s:1 | E: | S"), "", nil},
		{event(t, "D:S:a | P::select 5 | S"), "select 0", nil},
		{event(t, "F"), "function 1598", nil},
		{event(t, "Q:alter user joe password \"hunter2\""), "alter user joe password ''", nil},
		{[]byte("P\x00\x00\x00\x0ea\x00b\x00\xff\xff\x00\x00\x00\x01"), "b", []uint32{1}},
		{[]byte("Q\x00\x00"), "", nil},
	} {
		text, types := Describe(c.event)
		if text != c.text || fmt.Sprint(types) != fmt.Sprint(c.types) {
			t.Errorf("%q: got %q %v, want %q %v", c.event, text, types, c.text, c.types)
		}
	}
}

func FuzzSplitJoin(f *testing.F) {
	for _, m := range []string{"Q:select 1, 'a'", "P:s:select $1 | B::s:a,b | E: | S", "d:x | c | S", "F", "C:S:a | H | X", "Q:alter user a password 'b'"} {
		f.Add(event(f, m))
	}
	f.Add(encode(f, &pgproto3.Bind{Parameters: [][]byte{nil, {}, {1}}, ParameterFormatCodes: []int16{1}}))
	f.Add([]byte("P\x00\x00\x00\x06ab"))
	var s Splitter
	f.Fuzz(func(t *testing.T, b []byte) {
		shape, sizes, values := s.Split(b)
		s.Secret()
		joined, err := Join(nil, shape, sizes, values)
		if err != nil || !bytes.Equal(joined, b) {
			t.Fatalf("%q became %q, %v", b, joined, err)
		}
		if len(shape) > 4*len(b)+16 || len(values) > len(b) {
			t.Fatalf("%d bytes became %d of shape and %d of values", len(b), len(shape), len(values))
		}
		for i := range sizes {
			sizes[i] = sizeRedacted
		}
		if _, err := Join(nil, shape, sizes, nil); len(sizes) > 0 && !errors.Is(err, ErrRedacted) {
			t.Fatalf("redacted: %v", err)
		}
		Describe(b)
	})
}

// FuzzJoin: a damaged shape is refused or gives something bounded.
func FuzzJoin(f *testing.F) {
	f.Add([]byte{0, 'Q', 1, 1, 'a', 2, 3}, []byte{3, 0}, []byte("v"))
	f.Fuzz(func(t *testing.T, shape, small, values []byte) {
		sizes := make([]uint64, len(small))
		for i, n := range small {
			sizes[i] = uint64(n)
		}
		got, err := Join(nil, shape, sizes, values)
		if err == nil && len(got) > 5*len(shape)+len(values) {
			t.Fatalf("%d bytes out of %d and %d", len(got), len(shape), len(values))
		}
	})
}
