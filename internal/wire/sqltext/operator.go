package sqltext

import "bytes"

// operator reads a run of operator characters, a comment, or a signed number.
// The server's rules: a run ends before -- and /*; an operator of several
// characters does not end in + or - unless it holds one of ~!@#%^&|`?.
func (s *Scanner) operator(i int) (int, Kind) {
	if end := comment(s.src, i); end > i {
		return end, Comment
	}
	src, j := s.src, i+1
	if i >= s.signs {
		j = s.run(i)
	}
	if j == i+1 && isSign(src[i]) && !s.binary() {
		if end := signed(src, j); end > j {
			return end, Number
		}
	}
	return j, Operator
}

// run returns where the operator at i ends. Signs cut off its end are operators
// of one character each; s.signs remembers that, lest a long run be read again
// for each.
func (s *Scanner) run(i int) int {
	src, j, special := s.src, i, false
	for j < len(src) && class[src[j]] == operator && (j == i || !startsComment(src, j)) {
		switch src[j] {
		case '~', '!', '@', '#', '%', '^', '&', '|', '`', '?':
			special = true
		}
		j++
	}
	if special {
		return j
	}
	s.signs = j
	for j > i+1 && isSign(src[j-1]) {
		j--
	}
	return j
}

func isSign(b byte) bool { return b == '+' || b == '-' }

// signed returns where the number after a sign ends, or i if none follows.
func signed(src []byte, i int) int {
	j := i
	for j < len(src) && src[j] == ' ' {
		j++
	}
	if j == len(src) {
		return i
	}
	if class[src[j]] == digit || src[j] == '.' && j+1 < len(src) && class[src[j+1]] == digit {
		return number(src, j)
	}
	return i
}

func startsComment(src []byte, i int) bool {
	if i+1 >= len(src) {
		return false
	}
	return src[i] == '-' && src[i+1] == '-' || src[i] == '/' && src[i+1] == '*'
}

// comment returns where the comment at i ends, or i if there is none.
func comment(src []byte, i int) int {
	if !startsComment(src, i) {
		return i
	}
	if src[i] == '-' {
		if n := bytes.IndexAny(src[i:], "\n\r"); n >= 0 {
			return i + n
		}
		return len(src)
	}
	depth := 1
	for i += 2; i < len(src) && depth > 0; i++ {
		if i+1 == len(src) {
			continue
		}
		switch {
		case src[i] == '*' && src[i+1] == '/':
			depth--
			i++
		case src[i] == '/' && src[i+1] == '*':
			depth++
			i++
		}
	}
	return i
}

// binary: the sign at hand has a left operand.
func (s *Scanner) binary() bool {
	return s.operand && (s.wordTo == 0 || !keyword(s.src[s.wordFrom:s.wordTo]))
}

// keyword lists the words after which an operand is still to come, so that a
// sign is unary.
func keyword(w []byte) bool {
	var buf [16]byte
	l, ok := lower(&buf, w)
	if !ok {
		return false
	}
	switch string(l) {
	case "select", "where", "and", "or", "not", "in", "between", "symmetric", "like", "ilike",
		"then", "else", "when", "case", "limit", "offset", "fetch", "first", "next", "forward",
		"backward", "absolute", "relative", "return", "returning", "values", "set", "by", "on",
		"having", "to", "from", "distinct", "all", "any", "some", "with", "as", "is", "default",
		"increment", "minvalue", "maxvalue", "start", "restart", "using", "escape", "for", "if",
		"execute", "call", "collate", "over", "rows", "range", "groups", "similar", "cost":
		return true
	}
	return false
}
