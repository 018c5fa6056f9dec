package pg

import (
	"bytes"
	"slices"
	"strings"

	"github.com/retrace-db/retrace/internal/wire/pseudonym"
)

// copyForm is in what form a COPY's data are. Only the two that need no options
// can be taken apart.
type copyForm byte

const (
	noCopy copyForm = iota
	copyText
	copyCSV
	copyOther
)

// copyFormOf reads a statement whose literals are folded.
func copyFormOf(sql string) copyForm {
	words := strings.FieldsFunc(strings.ToLower(sql), func(r rune) bool {
		return r != '_' && r != '"' && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r < 0x80
	})
	if !slices.Contains(words, "copy") {
		return noCopy
	}
	if words[0] != "copy" || strings.Contains(strings.TrimRight(sql, "; \t\r\n"), ";") {
		return copyOther // one of several statements
	}
	form := copyText
	for _, w := range words {
		switch w {
		case "csv":
			form = copyCSV
		case "binary", "delimiter", "delimiters", "null", "quote", "escape", "encoding":
			return copyOther
		}
	}
	return form
}

// redact replaces the fields of a run of COPY data: its messages keep their
// lengths, since each field keeps its own. False if it cannot.
func (f copyForm) redact(key *pseudonym.Key, dst, b []byte) ([]byte, bool) {
	if f != copyText && f != copyCSV {
		return dst, false
	}
	var data []byte
	for rest := b; len(rest) > 0; {
		typ, m, after, err := cut(rest)
		if err != nil || typ != 'd' && typ != 'c' && typ != 'f' {
			return dst, false
		}
		if typ == 'd' {
			data = append(data, m[headerLen:]...)
		}
		rest = after
	}
	if f == copyText {
		data = fields(key, data)
	} else {
		data = fieldsCSV(key, data)
	}
	for len(b) > 0 {
		typ, m, after, _ := cut(b)
		switch typ {
		case 'd':
			n := len(m) - headerLen
			dst = append(append(dst, m[:headerLen]...), data[:n]...)
			data = data[n:]
		case 'f': // a text of the client's
			dst = append(dst, m[:headerLen]...)
			dst = append(dst, masked(m[headerLen:])...)
		default:
			dst = append(dst, m...)
		}
		b = after
	}
	return dst, true
}

// masked keeps the zero that ends a text, and the length of the rest.
func masked(b []byte) []byte {
	out := bytes.Repeat([]byte("x"), len(b))
	if n := len(b); n > 0 && b[n-1] == 0 {
		out[n-1] = 0
	}
	return out
}

// fields replaces those of the text format.
func fields(key *pseudonym.Key, data []byte) []byte {
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		n := bytes.IndexAny(data, "\t\r\n")
		if n < 0 {
			n = len(data)
		}
		switch v := data[:n]; string(v) {
		case `\N`, `\.`:
			out = append(out, v...)
		default:
			if bytes.IndexByte(v, '\\') >= 0 {
				out = key.Masked(out, v)
			} else {
				out = key.Text(out, v)
			}
		}
		if n < len(data) {
			out = append(out, data[n])
			n++
		}
		data = data[n:]
	}
	return out
}

// fieldsCSV replaces those of CSV with its usual comma and quote.
func fieldsCSV(key *pseudonym.Key, data []byte) []byte {
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		switch data[0] {
		case ',', '\r', '\n':
			out, data = append(out, data[0]), data[1:]
			continue
		case '"':
			out, data = append(out, '"'), data[1:]
			n := quotedCSV(data)
			if v := data[:n]; bytes.IndexByte(v, '"') >= 0 {
				out = key.Masked(out, v)
			} else {
				out = key.Text(out, v)
			}
			if data = data[n:]; len(data) > 0 {
				out, data = append(out, '"'), data[1:]
			}
			continue
		}
		n := bytes.IndexAny(data, ",\r\n\"")
		if n < 0 {
			n = len(data)
		}
		out = key.Text(out, data[:n])
		data = data[n:]
	}
	return out
}

// quotedCSV is where a quoted field ends, of which quotes are doubled.
func quotedCSV(data []byte) int {
	for i := 0; i < len(data); i++ {
		if data[i] != '"' {
			continue
		}
		if i+1 == len(data) || data[i+1] != '"' {
			return i
		}
		i++
	}
	return len(data)
}
