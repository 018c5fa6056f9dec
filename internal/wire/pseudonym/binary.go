package pseudonym

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// The types whose binary form is known here, as their OIDs.
const (
	typeUnknown   = 0
	typeBool      = 16
	typeBytea     = 17
	typeName      = 19
	typeInt8      = 20
	typeInt2      = 21
	typeInt4      = 23
	typeText      = 25
	typeOID       = 26
	typeJSON      = 114
	typeFloat4    = 700
	typeFloat8    = 701
	typeBPChar    = 1042
	typeVarchar   = 1043
	typeDate      = 1082
	typeTime      = 1083
	typeTimestamp = 1114
	typeTimeTZ    = 1184
	typeInterval  = 1186
	typeNumeric   = 1700
	typeUUID      = 2950
	typeJSONB     = 3802
)

// Binary replaces a parameter in binary form, of a type that may be 0 where it
// is not known; false if its form is not known either.
func (k *Key) Binary(dst, v []byte, oid uint32) ([]byte, bool) {
	switch oid {
	case typeUnknown:
		return k.guess(dst, v), true
	case typeText, typeVarchar, typeBPChar, typeName, typeJSON:
		return k.Text(dst, v), true
	case typeBytea:
		return k.Bytes(dst, v), true
	case typeJSONB:
		if len(v) > 0 && v[0] == 1 {
			return k.Text(append(dst, 1), v[1:]), true
		}
		return dst, false
	case typeNumeric:
		return k.numeric(dst, v)
	}
	if out, ok := k.array(dst, v); ok {
		return out, true
	}
	return k.fixed(dst, v, oid)
}

// fixed takes types of a fixed width.
func (k *Key) fixed(dst, v []byte, oid uint32) ([]byte, bool) {
	type width struct {
		oid uint32
		n   int
	}
	switch (width{oid, len(v)}) {
	case width{typeBool, 1}, width{typeOID, 4}: // few values, and names of things
		return append(dst, v...), true
	case width{typeInt2, 2}, width{typeInt4, 4}, width{typeInt8, 8}:
		return k.integer(dst, v), true
	case width{typeDate, 4}, width{typeTimestamp, 8}, width{typeTimeTZ, 8}:
		if infinite(v) {
			return append(dst, v...), true
		}
		return k.integer(dst, v), true
	case width{typeTime, 8}:
		const day = 24 * 3600 * 1e6
		if x := binary.BigEndian.Uint64(v); x < day {
			return binary.BigEndian.AppendUint64(dst, k.permute(x, day, 5<<28)), true
		}
	case width{typeInterval, 16}:
		dst = k.integer(k.integer(dst, v[:8]), v[8:12])
		return k.integer(dst, v[12:]), true
	case width{typeUUID, 16}:
		return k.UUID(dst, v), true
	case width{typeFloat4, 4}: // sign and exponent stay
		x := binary.BigEndian.Uint32(v)
		return binary.BigEndian.AppendUint32(dst, x&^(1<<23-1)|uint32(k.permute(uint64(x&(1<<23-1)), 1<<23, 6<<28))), true
	case width{typeFloat8, 8}:
		x := binary.BigEndian.Uint64(v)
		return binary.BigEndian.AppendUint64(dst, x&^(1<<52-1)|k.permute(x&(1<<52-1), 1<<52, 6<<28)), true
	}
	return dst, false
}

func infinite(v []byte) bool {
	low, high := byte(0x80), byte(0x7f)
	least, most := v[0] == low, v[0] == high
	for _, c := range v[1:] {
		least, most = least && c == 0, most && c == 0xff
	}
	return least || most
}

// guess goes by what it looks like: drivers seldom declare types.
func (k *Key) guess(dst, v []byte) []byte {
	switch {
	case len(v) == 1 && v[0] <= 1:
		return append(dst, v...)
	case printable(v):
		return k.Text(dst, v)
	case len(v) > 1 && v[0] == 1 && printable(v[1:]):
		return k.Text(append(dst, 1), v[1:])
	case len(v) == 2, len(v) == 4, len(v) == 8:
		return k.integer(dst, v)
	}
	if out, ok := k.array(dst, v); ok {
		return out
	}
	if out, ok := k.numeric(dst, v); ok {
		return out
	}
	if len(v) == 16 {
		return k.UUID(dst, v)
	}
	return k.Bytes(dst, v)
}

func printable(v []byte) bool {
	if !utf8.Valid(v) {
		return false
	}
	for _, r := range string(v) {
		if !unicode.IsPrint(r) && r != '\n' && r != '\r' && r != '\t' {
			return false
		}
	}
	return true
}

// numeric: the counts, the sign and the scale stay, its digits to the base of
// 10,000 become others.
func (k *Key) numeric(dst, v []byte) ([]byte, bool) {
	if len(v) < 8 || len(v) != 8+2*int(binary.BigEndian.Uint16(v)) {
		return dst, false
	}
	if sign := binary.BigEndian.Uint16(v[4:]); sign != 0 && sign != 0x4000 && len(v) > 8 {
		return dst, false
	}
	for at := 8; at < len(v); at += 2 {
		if binary.BigEndian.Uint16(v[at:]) > 9999 {
			return dst, false
		}
	}
	dst = append(dst, v[:8]...)
	for at := 8; at < len(v); at += 2 {
		x, low := uint64(binary.BigEndian.Uint16(v[at:])), uint64(0)
		if at == 8 && x > 0 {
			low = 1
		}
		dst = binary.BigEndian.AppendUint16(dst, uint16(low+k.permute(x-low, 10000-low, 7<<28|uint32(at))))
	}
	return dst, true
}

// array takes an array whose elements are of a type that is known here.
func (k *Key) array(dst, v []byte) ([]byte, bool) {
	if len(v) < 12 {
		return dst, false
	}
	dimensions := binary.BigEndian.Uint32(v)
	element := binary.BigEndian.Uint32(v[8:])
	if dimensions > 6 || binary.BigEndian.Uint32(v[4:]) > 1 || element == typeUnknown || len(v) < 12+8*int(dimensions) {
		return dst, false
	}
	out, rest := append(dst, v[:12+8*dimensions]...), v[12+8*dimensions:]
	for len(rest) > 0 {
		if len(rest) < 4 {
			return dst, false
		}
		n := int32(binary.BigEndian.Uint32(rest))
		out, rest = append(out, rest[:4]...), rest[4:]
		if n == -1 {
			continue
		}
		if n < 0 || int(n) > len(rest) {
			return dst, false
		}
		var ok bool
		if out, ok = k.scalar(out, rest[:n], element); !ok {
			return dst, false
		}
		rest = rest[n:]
	}
	return out, true
}

// scalar is an element of an array: no array again.
func (k *Key) scalar(dst, v []byte, oid uint32) ([]byte, bool) {
	switch oid {
	case typeText, typeVarchar, typeBPChar, typeName, typeJSON, typeBytea, typeJSONB, typeNumeric:
		return k.Binary(dst, v, oid)
	}
	return k.fixed(dst, v, oid)
}
