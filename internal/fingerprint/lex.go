package fingerprint

import (
	"strings"
	"unicode/utf8"

	"github.com/DataDog/go-sqllexer"
)

type kind byte

const (
	word     kind = iota + 1 // unquoted name or keyword, in lower case
	quoted                   // quoted name, as it stands
	literal                  // number, string, parameter
	operator                 // what PostgreSQL lexes as one operator; also :: and :=
	punct                    // ( ) [ ] , ; . : and what is none of all this
	group                    // brackets that hold nothing but literals, see fold
	end
)

type token struct {
	kind  kind
	text  string
	glued bool // no blank or comment stands before it
}

// scanner yields PostgreSQL's tokens. go-sqllexer finds where blanks, comments,
// strings, quoted names and numbers end. The rest is done here, because it
// takes "a/2" and a."b" for one name, "=--" and "=-" for operators, the blanks
// and names between two $ for a tag, and reads on to the end of the text to
// find out, which makes hostile input quadratic.
type scanner struct {
	src string
	at  int // where the next token starts
	lex *sqllexer.Lexer
	lat int // where lex stands; it cannot seek, so a new one is made when this is not at
}

// newScanner also makes the text valid UTF-8: a byte that is not becomes a
// character of its own in the private area, so that names in another encoding
// stay apart; readable turns it back.
func newScanner(sql string) *scanner {
	return &scanner{src: cleaned(sql), lat: -1}
}

const privateBytes = 0xF700 // + the byte: outside of what fonts and scripts use

func cleaned(sql string) string {
	if utf8.ValidString(sql) && strings.IndexByte(sql, 0) < 0 {
		return sql
	}
	var b strings.Builder
	b.Grow(len(sql))
	for i := 0; i < len(sql); {
		r, size := utf8.DecodeRuneInString(sql[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(privateBytes + rune(sql[i]))
		case r == 0: // the lexer takes it for the end of the text
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// readable shows the bytes that cleaned hid as \x escapes.
func readable(s string) string {
	const hex = "0123456789abcdef"
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(`\x`)
			b.WriteByte(hex[r>>4&15])
			b.WriteByte(hex[r&15])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hidden(r rune) bool { return r >= privateBytes+0x80 && r <= privateBytes+0xff }

// next returns the next token. operand tells whether what came before can be
// the left side of an operator, which decides what ? and : mean.
func (s *scanner) next(operand bool) token {
	glued := true
	for s.at < len(s.src) {
		c := s.src[s.at]
		switch {
		case isNameStart(c):
			return s.name(glued)
		case c == '$':
			return s.dollar(glued)
		case c == ':':
			return s.colon(operand, glued)
		case c == '-' && s.has("--"), c == '/' && s.has("/*"):
			s.comment()
		case strings.IndexByte(operatorChars, c) >= 0:
			return s.operator(operand, glued)
		case c == '.' && !operand && s.at+1 < len(s.src) && isDigit(s.src[s.at+1]): // .5
			s.at++
			t, _ := s.lexed(glued)
			t.glued = glued
			return t
		case c == '\f', c == '\v':
			s.at++
		default:
			if t, ok := s.lexed(glued); ok {
				return t
			}
		}
		glued = false
	}
	return token{kind: end}
}

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.src[s.at:], prefix) }

// take makes a token of the next n bytes.
func (s *scanner) take(k kind, n int, glued bool) token {
	text := s.src[s.at : s.at+n]
	s.at += n
	return token{k, text, glued}
}

func (s *scanner) literal(n int, glued bool) token {
	s.at += n
	return token{literal, "?", glued}
}

// name reads an unquoted name or keyword. Only ASCII is folded, as the server
// does. A name right before a quote is the prefix of a string.
func (s *scanner) name(glued bool) token {
	n := 1
	for s.at+n < len(s.src) && isNamePart(s.src[s.at+n]) {
		n++
	}
	rest := s.src[s.at+n:]
	if n == 1 && strings.HasPrefix(rest, "'") && strings.IndexByte("eEbBxXnN", s.src[s.at]) >= 0 {
		s.scan() // the lexer must see an E before the quote to know of \'
		t, _ := s.lexed(glued)
		t.glued = glued
		return t
	}
	if n == 1 && (s.has("u&'") || s.has("U&'")) {
		s.at += 2
		t, _ := s.lexed(glued)
		t.glued = glued
		return t
	}
	t := s.take(word, n, glued)
	t.text = lowerASCII(t.text)
	return t
}

// dollar reads $1 and $tag$…$tag$; $? is what some programs write for a parameter.
func (s *scanner) dollar(glued bool) token {
	rest := s.src[s.at+1:]
	n := 0
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	if n > 0 || strings.HasPrefix(rest, "?") {
		return s.literal(1+max(n, 1), glued)
	}
	for n < len(rest) && isNamePart(rest[n]) && rest[n] != '$' {
		n++
	}
	if n == len(rest) || rest[n] != '$' {
		return s.take(punct, 1, glued)
	}
	tag := s.src[s.at : s.at+n+2]
	body := s.src[s.at+len(tag):]
	if i := strings.Index(body, tag); i >= 0 {
		return s.literal(len(tag)+i+len(tag), glued)
	}
	return s.literal(len(s.src)-s.at, glued)
}

// colon reads ::, := and :name, which some programs write for a parameter.
func (s *scanner) colon(operand, glued bool) token {
	if s.has("::") || s.has(":=") {
		return s.take(operator, 2, glued)
	}
	n := 1
	for s.at+n < len(s.src) && isNamePart(s.src[s.at+n]) {
		n++
	}
	if n > 1 && !operand {
		return s.literal(n, glued)
	}
	return s.take(punct, 1, glued)
}

// comment skips one comment. PostgreSQL's nest, and a carriage return ends the
// short ones; the lexer knows neither.
func (s *scanner) comment() {
	if s.has("--") {
		if n := strings.IndexAny(s.src[s.at:], "\r\n"); n >= 0 {
			s.at += n
			return
		}
		s.at = len(s.src)
		return
	}
	depth := 0
	for s.at < len(s.src) {
		switch {
		case s.has("/*"):
			depth++
			s.at += 2
		case s.has("*/"):
			depth--
			s.at += 2
			if depth == 0 {
				return
			}
		default:
			s.at++
		}
	}
}

const (
	operatorChars = "+-*/<>=~!@#%^&|`?"
	// An operator may end in + or - only if it holds one of these.
	anyEnding   = "~!@#%^&|`?"
	maxOperator = 63 // the server's limit on names
)

// operator reads one operator by PostgreSQL's rules: it stops before a comment,
// and a + or - at its end belongs to what follows.
func (s *scanner) operator(operand, glued bool) token {
	n := 1
	for n < maxOperator && s.at+n < len(s.src) && strings.IndexByte(operatorChars, s.src[s.at+n]) >= 0 {
		n++
	}
	text := s.src[s.at : s.at+n]
	for _, comment := range []string{"--", "/*"} {
		if i := strings.Index(text, comment); i > 0 {
			text = text[:i]
		}
	}
	if i := len(text) - 1; text[i] == '?' && (i > 0 && !strings.ContainsAny(text[:i], anyEnding) || i == 0 && !operand) {
		// No operator of the server is a comparison with a ? behind it, and
		// none named ? stands before its operand: it is a parameter.
		if i == 0 {
			return s.literal(1, glued)
		}
		text = text[:i]
	}
	if !strings.ContainsAny(text, anyEnding) {
		for len(text) > 1 && (text[len(text)-1] == '+' || text[len(text)-1] == '-') {
			text = text[:len(text)-1]
		}
	}
	return s.take(operator, len(text), glued)
}

// lexed takes the next token from go-sqllexer; false if it was a blank.
func (s *scanner) lexed(glued bool) (token, bool) {
	start := s.at
	switch t := s.scan(); t {
	case sqllexer.SPACE:
		return token{}, false
	case sqllexer.STRING, sqllexer.INCOMPLETE_STRING, sqllexer.ERROR: // the last: a quote without its end
		return token{literal, "?", glued}, true
	case sqllexer.NUMBER:
		s.restOfNumber(start)
		return token{literal, "?", glued}, true
	case sqllexer.QUOTED_IDENT:
		return token{quoted, s.src[start:s.at], glued}, true
	default:
		if s.at == start { // cannot be; but it must not hang
			s.at++
		}
		return token{punct, s.src[start:s.at], glued}, true
	}
}

func (s *scanner) scan() sqllexer.TokenType {
	if s.lat != s.at || s.lex == nil {
		s.lex = sqllexer.New(s.src[s.at:], sqllexer.WithDBMS(sqllexer.DBMSPostgres))
	}
	t := s.lex.Scan()
	s.at += len(t.Value)
	s.lat = s.at
	return t.Type
}

// restOfNumber adds what the lexer leaves of 1_000, 0b11, 0o17 and 0189.
func (s *scanner) restOfNumber(start int) {
	if s.at-start == 1 && s.src[start] == '0' && s.at < len(s.src) && strings.IndexByte("bBoO", s.src[s.at]) >= 0 {
		s.at++
	}
	for s.at+1 < len(s.src) {
		c, n := s.src[s.at], s.src[s.at+1]
		switch {
		case c == '.' && isDigit(n), isDigit(c), c|0x20 == 'e' && isDigit(n):
			s.at++
		case c|0x20 == 'e' && (n == '-' || n == '+') && s.at+2 < len(s.src) && isDigit(s.src[s.at+2]):
			s.at += 2
		case c == '_' && isHex(n):
			s.at++
			for s.at < len(s.src) && isHex(s.src[s.at]) {
				s.at++
			}
		default:
			return
		}
	}
	if s.at < len(s.src) && isDigit(s.src[s.at]) {
		s.at++
	}
}

func isNameStart(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= 0x80
}

func isNamePart(c byte) bool { return isNameStart(c) || isDigit(c) || c == '$' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func lowerASCII(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}
