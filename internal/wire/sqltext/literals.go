package sqltext

// Literals finds the parts of a text that are values: literals, comments, and
// in statements that may hold a secret the words that may be it.
type Literals struct {
	scan  Scanner
	guard guard
}

// Reset begins a new text.
func (l *Literals) Reset(src []byte) {
	l.scan.Reset(src)
	l.guard = guard{}
}

// Next returns the next value src[start:end]; false at the end.
func (l *Literals) Next() (t Token, ok bool) {
	for {
		t := l.scan.Next()
		switch t.Kind {
		case EOF:
			return t, false
		case Number, String, Comment:
			return t, true
		case Word:
			if l.guard.word(l.scan.src[t.Start:t.End]) {
				return t, true
			}
		case Quoted:
			if l.guard.after {
				return t, true
			}
			l.guard.quoted(l.scan.src[t.Start:t.End])
		case Other:
			if l.scan.src[t.Start] == '(' {
				l.guard.opens()
			}
			l.guard.crypt = false
		case End:
			l.guard.end()
		case Operator:
			l.guard.crypt = false
			if l.scan.src[t.Start] == '=' {
				l.guard.equals()
			}
		}
	}
}

// Secrecy of the text up to where Next has come.
func (l *Literals) Secrecy() Secrecy { return l.guard.found }
