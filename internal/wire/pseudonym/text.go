package pseudonym

import (
	"bytes"
	"encoding/hex"
)

// Text replaces a value in text form. Numbers, dates, times, intervals and UUIDs
// become others; of JSON, arrays and ranges the elements do; words that have a
// meaning of their own to the server, such as true and infinity, stay.
func (k *Key) Text(dst, v []byte) []byte {
	if out, ok := k.formed(dst, v); ok {
		return out
	}
	if out, ok := k.short(dst, v); ok {
		return out
	}
	return k.letters(dst, v, alphabet)
}

// Masked replaces a text of which the form must not matter, such as one with
// escapes, by letters and digits.
func (k *Key) Masked(dst, v []byte) []byte { return k.letters(dst, v, alphabet) }

// formed takes what has more of a form than any text.
func (k *Key) formed(dst, v []byte) ([]byte, bool) {
	if len(v) == 0 || reserved(v) {
		return append(dst, v...), true
	}
	for _, form := range [...]func(dst, v []byte) ([]byte, bool){k.number, k.moment, k.uuid, k.hex, k.span, k.composite} {
		if out, ok := form(dst, v); ok {
			return out, true
		}
	}
	return dst, false
}

func reserved(v []byte) bool {
	if len(v) > 9 {
		return false
	}
	switch string(bytes.ToLower(v)) {
	case "t", "f", "true", "false", "on", "off", "yes", "no", "null", "nan", "infinity", "-infinity",
		"now", "today", "tomorrow", "yesterday", "epoch", "default":
		return true
	}
	return false
}

// maxShort is how long texts are of which 62 to that power is below 2 to the 64.
const maxShort = 10

// short permutes the letters and digits of a short text, where chance could make
// two pseudonyms the same; what stands between them stays.
func (k *Key) short(dst, v []byte) ([]byte, bool) {
	if len(v) > maxShort {
		return dst, false
	}
	x, n, count := uint64(0), uint64(1), uint32(0)
	for _, c := range v {
		if c == '\\' || c < ' ' || c >= 0x7f {
			return dst, false
		}
		if at := place(c); at >= 0 {
			x, n, count = x*62+uint64(at), n*62, count+1
		}
	}
	if count == 0 {
		return append(dst, v...), true
	}
	from := len(dst)
	for {
		x = k.permute(x, n, 4<<28|count)
		dst = append(dst[:from], v...)
		y := x
		for i := len(dst) - 1; i >= from; i-- {
			if place(dst[i]) >= 0 {
				dst[i], y = alphabet[y%62], y/62
			}
		}
		if _, formed := k.formed(nil, dst[from:]); !formed { // that is the pseudonym of another form's value
			return dst, true
		}
	}
}

func place(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'Z':
		return int(c-'A') + 10
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 36
	}
	return -1
}

const uuidLength = 36

func (k *Key) uuid(dst, v []byte) ([]byte, bool) {
	if len(v) != uuidLength || v[8] != '-' || v[13] != '-' || v[18] != '-' || v[23] != '-' {
		return dst, false
	}
	raw, err := hex.AppendDecode(nil, bytes.ReplaceAll(v, []byte("-"), nil))
	if err != nil || len(raw) != 16 {
		return dst, false
	}
	raw = k.UUID(nil, raw)
	for i, b := range raw {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexa[b>>4], hexa[b&15])
	}
	return dst, true
}

// UUID keeps the version and variant of 16 bytes.
func (k *Key) UUID(dst, v []byte) []byte {
	from := len(dst)
	dst = k.Bytes(dst, v)
	dst[from+6] = v[6]&0xf0 | dst[from+6]&0x0f
	dst[from+8] = v[8]&0xc0 | dst[from+8]&0x3f
	return dst
}

// hex takes bytea's \x form.
func (k *Key) hex(dst, v []byte) ([]byte, bool) {
	if len(v) < 2 || len(v)%2 != 0 || v[0] != '\\' || v[1] != 'x' {
		return dst, false
	}
	for _, c := range v[2:] {
		if digit := c >= '0' && c <= '9'; !digit && ((c|0x20) < 'a' || (c|0x20) > 'f') {
			return dst, false
		}
	}
	return k.letters(append(dst, v[:2]...), v[2:], hexa), true
}

// composite takes JSON, arrays, ranges and rows: brackets, commas and quotes
// stay, what stands between them is replaced as a text of its own.
func (k *Key) composite(dst, v []byte) ([]byte, bool) {
	if len(v) < 2 || bytes.IndexByte([]byte("{[("), v[0]) < 0 || bytes.IndexByte([]byte("}])"), v[len(v)-1]) < 0 {
		return dst, false
	}
	for len(v) > 0 {
		n := 1
		switch {
		case v[0] == '"':
			n = closing(v[1:])
			dst = append(dst, '"')
			if inner := v[1 : 1+n]; bytes.IndexByte(inner, '\\') >= 0 || bytes.IndexByte(inner, '"') >= 0 {
				dst = k.letters(dst, inner, alphabet)
			} else {
				dst = k.Text(dst, inner)
			}
			v = v[1+n:]
			if len(v) > 0 {
				dst, v = append(dst, '"'), v[1:]
			}
			continue
		case bytes.IndexByte([]byte("{}[](),: \t\r\n"), v[0]) >= 0:
			dst = append(dst, v[0])
		default:
			if n = bytes.IndexAny(v, "{}[](),\""); n < 0 {
				n = len(v)
			}
			run := bytes.TrimRight(v[:n], " \t\r\n")
			dst = append(k.Text(dst, run), v[len(run):n]...)
		}
		v = v[n:]
	}
	return dst, true
}

// closing is where a quoted element ends.
func closing(v []byte) int {
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(v)
}
