package pseudonym

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
)

// number takes a decimal number: sign, point, exponent and the count of digits
// stay. A whole number that fits a type of PostgreSQL's becomes one that does.
func (k *Key) number(dst, v []byte) ([]byte, bool) {
	at := 0
	negative := len(v) > 0 && v[0] == '-'
	if len(v) > 0 && (v[0] == '-' || v[0] == '+') {
		at = 1
	}
	whole := digits(v[at:])
	rest := v[at+whole:]
	fraction := 0
	if len(rest) > 0 && rest[0] == '.' {
		fraction = digits(rest[1:])
		rest = rest[1+fraction:]
	}
	if whole+fraction == 0 || len(rest) > 0 && !exponent(rest) {
		return dst, false
	}
	dst = k.whole(append(dst, v[:at]...), v[at:at+whole], negative)
	if point := at + whole; point < len(v)-len(rest) {
		dst = append(dst, '.')
		dst = k.fraction(dst, v[point+1:len(v)-len(rest)])
	}
	return append(dst, rest...), true
}

func digits(v []byte) int {
	n := 0
	for n < len(v) && v[n] >= '0' && v[n] <= '9' {
		n++
	}
	return n
}

func exponent(v []byte) bool {
	if v[0]|0x20 != 'e' {
		return false
	}
	v = v[1:]
	if len(v) > 0 && (v[0] == '-' || v[0] == '+') {
		v = v[1:]
	}
	return len(v) > 0 && digits(v) == len(v)
}

// maxDigits of what is permuted as a number.
const maxDigits = 19

// whole leaves leading zeros where they are.
func (k *Key) whole(dst, v []byte, negative bool) []byte {
	zeros := 0
	for zeros < len(v)-1 && v[zeros] == '0' {
		zeros++
	}
	dst, v = append(dst, v[:zeros]...), v[zeros:]
	if len(v) == 0 {
		return dst
	}
	if len(v) > maxDigits {
		from := len(dst)
		dst = k.letters(dst, v, decimal)
		if dst[from] == '0' {
			dst[from] = '1'
		}
		return dst
	}
	x, err := strconv.ParseUint(string(v), 10, 64)
	if err != nil {
		return append(dst, v...) // digits of that number always are one
	}
	return strconv.AppendUint(dst, k.magnitude(x, len(v), negative, uint32(zeros)), 10)
}

// magnitude permutes the numbers of as many digits that fit the same types.
func (k *Key) magnitude(x uint64, n int, negative bool, tweak uint32) uint64 {
	low, high := uint64(0), uint64(9)
	for range n - 1 {
		low, high = max(low, 1)*10, high*10+9
	}
	if low == 0 && negative {
		low = 1
	}
	if x < low {
		return x // minus zero
	}
	tweak = tweak<<8 | uint32(n)<<1
	for _, limit := range [...]uint64{math.MaxInt16, math.MaxInt32, math.MaxInt64} {
		if negative {
			limit++
		}
		switch {
		case limit < low || limit >= high:
		case x <= limit:
			high = limit
		default:
			low = limit + 1
		}
	}
	if negative {
		tweak |= 1
	}
	return low + k.permute(x-low, high-low+1, tweak)
}

func (k *Key) fraction(dst, v []byte) []byte {
	if len(v) == 0 || len(v) > maxDigits-1 {
		return k.letters(dst, v, decimal)
	}
	n := uint64(1)
	for range v {
		n *= 10
	}
	x, err := strconv.ParseUint(string(v), 10, 64)
	if err != nil {
		return append(dst, v...)
	}
	text := strconv.FormatUint(n+k.permute(x, n, 1<<31|uint32(len(v))), 10)
	return append(dst, text[1:]...)
}

// signed is a whole number as in text.
func (k *Key) signed(v int64) int64 {
	x, negative := uint64(v), v < 0
	if negative {
		x = -x
	}
	x = k.magnitude(x, len(strconv.AppendUint(nil, x, 10)), negative, 0)
	if negative {
		x = -x
	}
	return int64(x)
}

// integer is a binary whole number of 2, 4 or 8 bytes.
func (k *Key) integer(dst, v []byte) []byte {
	switch len(v) {
	case 2:
		return binary.BigEndian.AppendUint16(dst, uint16(k.signed(int64(int16(binary.BigEndian.Uint16(v))))))
	case 4:
		return binary.BigEndian.AppendUint32(dst, uint32(k.signed(int64(int32(binary.BigEndian.Uint32(v))))))
	}
	return binary.BigEndian.AppendUint64(dst, uint64(k.signed(int64(binary.BigEndian.Uint64(v)))))
}

// based takes numbers such as 0x1f and 1_000: each digit becomes another.
func (k *Key) based(dst, v []byte) []byte {
	of, from := decimal, 0
	if len(v) > 2 && v[0] == '0' {
		switch v[1] | 0x20 {
		case 'x':
			of, from = hexa, 2
		case 'o':
			of, from = decimal[:8], 2
		case 'b':
			of, from = decimal[:2], 2
		}
	}
	s := k.stream(v)
	dst = append(dst, v[:from]...)
	for i, c := range v[from:] {
		switch {
		case c >= '0' && c <= '9', of == hexa && (c|0x20) >= 'a' && (c|0x20) <= 'f':
			n := s.IntN(len(of))
			if i == 0 && n == 0 {
				n = 1
			}
			c = of[n]
		case bytes.IndexByte([]byte("_.eE+-"), c) < 0:
			c = 'a' + byte(s.IntN(26))
		}
		dst = append(dst, c)
	}
	return dst
}
