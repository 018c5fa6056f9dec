package sqltext

import "bytes"

// Kind of a token.
type Kind byte

// The kinds of tokens.
const (
	EOF      Kind = iota
	Word          // a keyword or an unquoted identifier
	Quoted        // "…" and U&"…"
	Param         // $1
	Number        // with its sign where that is unary
	String        // '…', E'…', B'…', X'…', N'…', U&'…' and $tag$…$tag$
	Comment       // without the line end of a -- comment
	Operator      //
	End           // ;
	Other         // brackets, commas, colons, dots and what no token begins with
)

// Token is src[Start:End].
type Token struct {
	Start, End int
	Kind       Kind
}

// Scanner cuts a text into tokens; white space lies between them.
type Scanner struct {
	src []byte
	pos int
	// operand: what came last can stand left of a binary minus. A word can
	// unless it is a keyword, which is only looked up when a sign follows.
	operand          bool
	wordFrom, wordTo int
	signs            int // up to here nothing but signs
}

// Reset begins a new text.
func (s *Scanner) Reset(src []byte) { *s = Scanner{src: src} }

// Next returns the next token; at the end EOF, again and again.
func (s *Scanner) Next() Token {
	src, i := s.src, s.pos
	for i < len(src) && class[src[i]] == space {
		i++
	}
	if i == len(src) {
		s.pos = i
		return Token{i, i, EOF}
	}
	end, kind := i+1, Other
	switch class[src[i]] {
	case letter:
		end, kind = s.word(i)
	case digit:
		end, kind = number(src, i), Number
	case quote:
		end, kind = quoted(src, i+1, '\''), String
	case doubleQuote:
		end, kind = quoted(src, i+1, '"'), Quoted
	case dollar:
		end, kind = s.dollar(i)
	case dot:
		end, kind = s.dot(i)
	case operator:
		end, kind = s.operator(i)
	case semicolon:
		kind = End
	}
	s.pos = end
	if kind != Comment { // a comment is white space to what follows
		s.operand = kind >= Word && kind <= String || class[src[i]] == closing
		if kind != Word {
			s.wordTo = 0
		}
	}
	return Token{i, end, kind}
}

// word reads an identifier or a string with a prefix.
func (s *Scanner) word(i int) (int, Kind) {
	src, j := s.src, i+1
	for j < len(src) && inWord[src[j]] {
		j++
	}
	if j == i+1 && j < len(src) {
		switch src[i] | 0x20 {
		case 'e':
			if src[j] == '\'' {
				return escaped(src, j+1), String
			}
		case 'b', 'x', 'n':
			if src[j] == '\'' {
				return quoted(src, j+1, '\''), String
			}
		case 'u':
			if src[j] == '&' && j+1 < len(src) {
				switch src[j+1] {
				case '\'':
					return quoted(src, j+2, '\''), String
				case '"':
					return quoted(src, j+2, '"'), Quoted
				}
			}
		}
	}
	s.wordFrom, s.wordTo = i, j
	return j, Word
}

// quoted returns where a quotation ends that began before i; the quote
// character doubled is one of its contents. Unterminated it reaches to the end.
func quoted(src []byte, i int, q byte) int {
	for {
		n := bytes.IndexByte(src[i:], q)
		if n < 0 {
			return len(src)
		}
		i += n + 1
		if i == len(src) || src[i] != q {
			return i
		}
		i++
	}
}

// escaped is quoted for E'…', where a backslash takes the next byte with it.
func escaped(src []byte, i int) int {
	for i < len(src) {
		switch src[i] {
		case '\\':
			i++
		case '\'':
			if i+1 == len(src) || src[i+1] != '\'' {
				return i + 1
			}
			i++
		}
		i++
	}
	return len(src)
}

// dollar reads $1 or $tag$…$tag$.
func (s *Scanner) dollar(i int) (int, Kind) {
	src, j := s.src, i+1
	if j < len(src) && class[src[j]] == digit {
		for j < len(src) && class[src[j]] == digit {
			j++
		}
		return j, Param
	}
	if j < len(src) && class[src[j]] == letter {
		for j < len(src) && (class[src[j]] == letter || class[src[j]] == digit) {
			j++
		}
	}
	if j == len(src) || src[j] != '$' {
		return i + 1, Other
	}
	tag := src[i : j+1]
	n := bytes.Index(src[j+1:], tag)
	if n < 0 {
		return len(src), String
	}
	return j + 1 + n + len(tag), String
}

// dot reads .5 and keeps the dots of 1..10 together.
func (s *Scanner) dot(i int) (int, Kind) {
	if i+1 < len(s.src) {
		switch c := s.src[i+1]; {
		case class[c] == digit:
			return number(s.src, i), Number
		case c == '.':
			return i + 2, Other
		}
	}
	return i + 1, Other
}
