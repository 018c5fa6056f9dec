package filter

import (
	"strings"
)

// pattern is a value: the pieces between its stars.
type pattern []string

// stars tells whether it holds one.
func (p pattern) stars() bool { return len(p) > 1 }

// text is the value of a pattern without stars.
func (p pattern) text() string { return p[0] }

// lower makes a pattern for texts in lower case.
func (p pattern) lower() pattern {
	out := make(pattern, len(p))
	for i := range p {
		out[i] = strings.ToLower(p[i])
	}
	return out
}

// match tells whether the pattern stands for all of a text.
func (p pattern) match(text string) bool {
	if len(p) == 1 {
		return text == p[0]
	}
	first, last := p[0], p[len(p)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, piece := range p[1 : len(p)-1] {
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
	return true
}

// within tells whether the pattern stands for a piece of a text.
func (p pattern) within(text string) bool {
	for _, piece := range p {
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
	return true
}

// write gives the text that parses to the pattern.
func (p pattern) write(b *strings.Builder) {
	if len(p) == 1 && p[0] == "" {
		b.WriteString(`""`)
		return
	}
	for i, piece := range p {
		if i > 0 {
			b.WriteByte('*')
		}
		if strings.ContainsAny(piece, special) {
			piece = `"` + escaper.Replace(piece) + `"`
		}
		b.WriteString(piece)
	}
}

// special are the characters that stand for themselves only in quotes.
const special = blanks + `,*"`

const blanks = " \t\r\n"

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
