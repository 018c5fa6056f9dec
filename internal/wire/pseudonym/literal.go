package pseudonym

import "bytes"

// Literal replaces a literal or comment of SQL; false if it is neither.
func (k *Key) Literal(dst, v []byte) ([]byte, bool) {
	switch {
	case len(v) == 0:
		return dst, false
	case bytes.HasPrefix(v, []byte("--")):
		return k.letters(append(dst, v[:2]...), v[2:], alphabet), true
	case bytes.HasPrefix(v, []byte("/*")):
		return k.between(dst, v, 2, "*/", k.plain), true
	case v[0] == '$':
		return k.dollar(dst, v)
	}
	if quote := bytes.IndexByte(v, '\''); quote >= 0 && quote <= 2 {
		return k.between(dst, v, quote+1, "'", k.inside(v[:quote])), true
	}
	if out, ok := k.number(dst, v); ok {
		return out, true
	}
	if first := bytes.TrimLeft(v, "+-."); len(first) > 0 && first[0] >= '0' && first[0] <= '9' {
		return k.based(append(dst, v[:len(v)-len(first)]...), first), true
	}
	return dst, false
}

func (k *Key) plain(dst, v []byte) []byte { return k.letters(dst, v, alphabet) }

// inside is how the content of a string with that prefix is replaced.
func (k *Key) inside(prefix []byte) func(dst, v []byte) []byte {
	of := func(alphabet string) func(dst, v []byte) []byte {
		return func(dst, v []byte) []byte { return k.letters(dst, v, alphabet) }
	}
	if len(prefix) > 0 {
		switch prefix[0] | 0x20 {
		case 'b':
			return of(decimal[:2])
		case 'x':
			return of(hexa)
		case 'e', 'u':
			return func(dst, v []byte) []byte {
				if bytes.IndexByte(v, '\\') >= 0 {
					return k.plain(dst, v)
				}
				return k.Text(dst, v)
			}
		}
	}
	return k.Text
}

// between leaves the first n bytes and the end, if it is there.
func (k *Key) between(dst, v []byte, n int, end string, do func(dst, v []byte) []byte) []byte {
	dst, v = append(dst, v[:n]...), v[n:]
	inner := bytes.TrimSuffix(v, []byte(end))
	return append(do(dst, inner), v[len(inner):]...)
}

// dollar keeps $$ and replaces a tag alike on both sides.
func (k *Key) dollar(dst, v []byte) ([]byte, bool) {
	n := bytes.IndexByte(v[1:], '$')
	if n < 0 {
		return dst, false
	}
	tag := v[:n+2]
	quote := append(k.letters([]byte{'$'}, tag[1:n+1], alphabet[10:]), '$')
	dst, v = append(dst, quote...), v[n+2:]
	inner := bytes.TrimSuffix(v, tag)
	dst = k.plain(dst, inner)
	if len(inner) < len(v) {
		dst = append(dst, quote...)
	}
	return dst, true
}
