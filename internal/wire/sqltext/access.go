package sqltext

// Access is what a text does to the data, as far as its words tell.
type Access byte

// The kinds of access, each more than the one before.
const (
	Reads  Access = iota // reads at most: queries of built-in functions, transaction control, settings
	Calls                // reads, and calls functions that may do anything
	Writes               // changes data, locks them, or may
)

// AccessOf judges all statements of a text. What it does not know writes.
func AccessOf(src []byte) Access {
	a := access{src: src}
	a.Reset(src)
	found := Reads
	for {
		judged, more := a.statement()
		found = max(found, judged)
		if !more || found == Writes {
			return found
		}
	}
}

// access goes through the tokens of a text, without the comments.
type access struct {
	Scanner
	src []byte
	buf [16]byte
	tok Token
	// read is true where a token was looked at too early.
	read bool
}

// next returns a token, and the word in lower case if it is one; longer words
// than any that matters come as they are.
func (a *access) next() (Token, string) {
	if !a.read {
		a.tok = a.Scanner.Next()
		for a.tok.Kind == Comment {
			a.tok = a.Scanner.Next()
		}
	}
	a.read = false
	w := a.src[a.tok.Start:a.tok.End]
	if a.tok.Kind != Word {
		return a.tok, string(w[:min(len(w), 1)])
	}
	if l, ok := lower(&a.buf, w); ok {
		return a.tok, string(l)
	}
	return a.tok, Name(w)
}

func (a *access) back() { a.read = true }

// statement judges the next statement; more tells whether one may follow.
func (a *access) statement() (found Access, more bool) {
	t, w := a.next()
	for t.Kind == Other && w == "(" {
		t, w = a.next()
	}
	switch {
	case t.Kind == EOF:
		return Reads, false
	case t.Kind == End:
		return Reads, true
	case t.Kind != Word:
		return a.rest(Writes)
	}
	return a.verb(w)
}

func (a *access) verb(w string) (Access, bool) {
	switch w {
	case "select", "values", "table", "with", "declare":
		return a.query()
	case "show", "fetch", "move", "close", "end", "abort", "savepoint", "release", "deallocate", "discard",
		"listen", "unlisten":
		return a.rest(Reads)
	case "commit", "rollback":
		if _, w := a.next(); w == "prepared" {
			return a.rest(Writes)
		}
		a.back()
		return a.rest(Reads)
	case "begin", "start", "set", "reset":
		return a.setting()
	case "explain":
		return a.explain()
	case "prepare":
		return a.prepare()
	case "copy":
		return a.copying()
	}
	return a.rest(Writes)
}

// rest passes over what is left of a statement.
func (a *access) rest(found Access) (Access, bool) {
	for {
		switch t, _ := a.next(); t.Kind {
		case EOF:
			return found, false
		case End:
			return found, true
		}
	}
}

// query judges a query by its words: the words of data-modifying parts, of SELECT
// INTO and of row locks may stand anywhere in it, and functions are words before
// a bracket.
func (a *access) query() (Access, bool) {
	found, before, name := Reads, "", ""
	for {
		t, w := a.next()
		switch {
		case t.Kind == EOF:
			return found, false
		case t.Kind == End:
			return found, true
		case t.Kind == Quoted:
			name = Name(a.src[t.Start:t.End])
			before = ""
			continue
		case t.Kind == Word:
			if modifies(before, w) {
				found = Writes
			}
			name, before = w, w
			continue
		case w == "(" && name != "":
			found = max(found, function(name))
		}
		name, before = "", ""
	}
}

func modifies(before, w string) bool {
	switch w {
	case "insert", "update", "delete", "merge", "into":
		return true
	case "no", "share", "key":
		return before == "for"
	}
	return false
}

// setting keeps what makes a transaction or a session one that may write from
// being taken for a reader.
func (a *access) setting() (Access, bool) {
	found := Reads
	for before := ""; ; {
		t, w := a.next()
		switch {
		case t.Kind == EOF:
			return found, false
		case t.Kind == End:
			return found, true
		case w == "write" && before == "read", readOnlySetting[Name(a.src[t.Start:t.End])]:
			found = Writes
		}
		before = w
	}
}

var readOnlySetting = map[string]bool{"default_transaction_read_only": true, "transaction_read_only": true}

// explain runs the statement only if it is asked to.
func (a *access) explain() (Access, bool) {
	runs := false
	for depth := 0; ; {
		t, w := a.next()
		switch {
		case t.Kind == EOF, t.Kind == End:
			return Reads, t.Kind == End
		case w == "(":
			depth++
		case w == ")":
			depth--
		case w == "analyze", w == "analyse":
			runs = true
		case depth > 0, w == "verbose":
		default:
			a.back()
			found, more := a.statement()
			if !runs {
				found = Reads
			}
			return found, more
		}
	}
}

// prepare is judged by what it prepares.
func (a *access) prepare() (Access, bool) {
	for {
		t, w := a.next()
		switch {
		case t.Kind == EOF, t.Kind == End:
			return Reads, t.Kind == End
		case w == "transaction":
			return a.rest(Writes)
		case t.Kind == Word && w == "as":
			return a.statement()
		}
	}
}

// copying reads only if it copies to the client, a table or a query that reads.
func (a *access) copying() (Access, bool) {
	found := Reads
	depth, name, before := 0, "", ""
	toClient := false
	for {
		t, w := a.next()
		switch {
		case t.Kind == EOF, t.Kind == End:
			if !toClient {
				found = Writes
			}
			return found, t.Kind == End
		case w == "(":
			depth++
			if name != "" && depth > 1 {
				found = max(found, function(name))
			}
		case w == ")":
			depth--
		case t.Kind == Word && depth > 0 && modifies(before, w), depth == 0 && w == "from":
			found = Writes
		case depth == 0 && w == "stdout" && before == "to":
			toClient = true
		}
		name, before = "", ""
		if t.Kind == Word {
			name, before = w, w
		}
	}
}
