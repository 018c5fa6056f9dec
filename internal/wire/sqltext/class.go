package sqltext

// Classes of bytes: what a byte can begin.
const (
	other byte = iota
	space
	letter // begins an identifier; bytes from 0x80 do, as in the server
	digit
	quote
	doubleQuote
	dollar
	dot
	operator
	semicolon
	closing // ) and ]: an operand ends here
)

var class = func() (t [256]byte) {
	for b := 0; b < 256; b++ {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '_', b >= 0x80:
			t[b] = letter
		case b >= '0' && b <= '9':
			t[b] = digit
		}
	}
	for _, b := range []byte(" \t\n\r\f\v") {
		t[b] = space
	}
	for _, b := range []byte("~!@#^&|`?+-*/%<>=") {
		t[b] = operator
	}
	t['\''], t['"'], t['$'], t['.'] = quote, doubleQuote, dollar, dot
	t[';'], t[')'], t[']'] = semicolon, closing, closing
	return t
}()

// inWord tells which bytes continue an identifier.
var inWord = func() (t [256]bool) {
	for b := range t {
		t[b] = class[b] == letter || class[b] == digit || b == '$'
	}
	return t
}()

// lower writes w in lower case (ASCII) and reports whether it fitted.
func lower(buf *[16]byte, w []byte) ([]byte, bool) {
	if len(w) > len(buf) {
		return nil, false
	}
	for i, b := range w {
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		buf[i] = b
	}
	return buf[:len(w)], true
}
