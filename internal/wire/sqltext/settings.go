package sqltext

import (
	"bytes"
	"slices"
	"strings"
)

// Setting is what a SET, RESET or set_config does to the settings of a session,
// beyond the transaction it is in.
type Setting struct {
	Names []string // in lower case; none if it does nothing that lasts
	Back  bool     // to what they were when the session began
	All   bool     // RESET ALL: every setting but role and session authorization
}

// The settings that RESET ALL leaves alone.
const (
	Role          = "role"
	Authorization = "session_authorization"
)

// Settings reads a statement whose effect is Set, SetConfig or Reset. What it
// does not understand does nothing: a set_config whose arguments are no
// literals, and everything that ends with its transaction.
func Settings(text []byte) Setting {
	r := settingReader{src: text}
	r.scan.Reset(text)
	r.next()
	switch verb := r.word(); verb {
	case "select":
		return r.call()
	case "reset":
		return r.reset()
	case "set":
		return r.set()
	}
	return Setting{}
}

// settingReader goes through a statement token by token.
type settingReader struct {
	scan Scanner
	src  []byte
	t    Token
}

func (r *settingReader) next() {
	for r.t = r.scan.Next(); r.t.Kind == Comment; {
		r.t = r.scan.Next()
	}
}

// text is the token at hand.
func (r *settingReader) text() []byte { return r.src[r.t.Start:r.t.End] }

// word takes the token at hand if it is one, in lower case.
func (r *settingReader) word() string {
	if r.t.Kind != Word {
		return ""
	}
	w := Name(r.text())
	r.next()
	return w
}

// is takes the token at hand if it is this word.
func (r *settingReader) is(word string) bool {
	ok := r.t.Kind == Word && isWord(r.text(), word)
	if ok {
		r.next()
	}
	return ok
}

// set reads what follows SET.
func (r *settingReader) set() Setting {
	switch {
	case r.is("local"), r.is("transaction"), r.is("constraints"):
		return Setting{}
	case r.is("session"):
		if r.is("characteristics") {
			return r.characteristics()
		}
		if r.is("authorization") {
			return r.value(Authorization, Role)
		}
	}
	return r.named()
}

// named reads a name and its value.
func (r *settingReader) named() Setting {
	switch first := r.name(); first {
	case "time":
		if r.is("zone") {
			return r.value("timezone")
		}
		return r.assigned(first)
	case "session":
		if r.is("authorization") {
			return r.value(Authorization, Role)
		}
		return r.assigned(first)
	case "names":
		return r.value("client_encoding")
	case "schema":
		return r.value("search_path")
	case "xml":
		r.next() // OPTION
		return r.value("xmloption")
	case Role:
		if r.assigns() {
			r.next()
		}
		return r.value(first)
	case "", "seed":
		return Setting{}
	default:
		return r.assigned(first)
	}
}

// name reads the name of a setting, which may have dots in it.
func (r *settingReader) name() string {
	name := ""
	for r.t.Kind == Word || r.t.Kind == Quoted {
		name += strings.ToLower(Name(r.text()))
		if r.next(); r.t.Kind == EOF || string(r.text()) != "." {
			break
		}
		name += "."
		r.next()
	}
	return name
}

// assigns tells whether the token at hand is TO or =.
func (r *settingReader) assigns() bool {
	return r.t.Kind == Operator && string(r.text()) == "=" || r.t.Kind == Word && isWord(r.text(), "to")
}

func (r *settingReader) assigned(name string) Setting {
	if !r.assigns() {
		return Setting{}
	}
	r.next()
	return r.value(name)
}

// value looks at whether the value is the one the session began with.
func (r *settingReader) value(names ...string) Setting {
	back := r.t.Kind == EOF || r.t.Kind == Word && (isWord(r.text(), "default") || names[0] == "timezone" && isWord(r.text(), "local"))
	return Setting{Names: names, Back: back}
}

// characteristics reads SET SESSION CHARACTERISTICS AS TRANSACTION.
func (r *settingReader) characteristics() Setting {
	var s Setting
	add := func(name string) {
		if !slices.Contains(s.Names, name) {
			s.Names = append(s.Names, name)
		}
	}
	for ; r.t.Kind != EOF; r.next() {
		switch w := r.text(); {
		case isWord(w, "isolation"):
			add("default_transaction_isolation")
		case isWord(w, "only"), isWord(w, "write"):
			add("default_transaction_read_only")
		case isWord(w, "deferrable"):
			add("default_transaction_deferrable")
		}
	}
	return s
}

// reset reads what follows RESET.
func (r *settingReader) reset() Setting {
	if r.is("all") {
		return Setting{All: true, Back: true}
	}
	switch name := r.name(); name {
	case "", "transaction":
		return Setting{}
	case "time":
		return Setting{Names: []string{"timezone"}, Back: true}
	case "session":
		return Setting{Names: []string{Authorization, Role}, Back: true}
	default:
		return Setting{Names: []string{name}, Back: true}
	}
}

// call reads set_config('name', 'value', false) and nothing beside it.
func (r *settingReader) call() Setting {
	if r.is("pg_catalog") {
		r.next() // the dot
	}
	var name []byte
	for i, want := range [...]string{"set_config", "(", "'", ",", "'", ",", "false", ")"} {
		switch text := r.text(); {
		case want == "'":
			if r.t.Kind != String || text[0] != '\'' {
				return Setting{}
			}
			if i == 2 {
				name = text
			}
		case !bytes.EqualFold(text, []byte(want)):
			return Setting{}
		}
		r.next()
	}
	if r.is("as") || r.t.Kind == Word {
		r.next()
	}
	if r.t.Kind != EOF || len(name) < 3 {
		return Setting{}
	}
	return Setting{Names: []string{strings.ToLower(string(name[1 : len(name)-1]))}}
}

// SavepointName is the savepoint that a SAVEPOINT, RELEASE or ROLLBACK TO
// names; false for a ROLLBACK of the whole transaction.
func SavepointName(text []byte) (string, bool) {
	r := settingReader{src: text}
	r.scan.Reset(text)
	r.next()
	verb := r.word()
	if verb == "rollback" || verb == "abort" {
		if !r.is("work") {
			r.is("transaction")
		}
		if !r.is("to") {
			return "", false
		}
	}
	name := ""
	for r.t.Kind == Word || r.t.Kind == Quoted {
		name = Name(r.text())
		r.next()
	}
	return name, name != ""
}

// DiscardsAll tells DISCARD ALL from those that keep statements and settings.
func DiscardsAll(text []byte) bool {
	r := settingReader{src: text}
	r.scan.Reset(text)
	r.next()
	return r.word() == "discard" && r.is("all")
}

// HoldsSecret reports whether a text may hold a password, token or key.
func HoldsSecret(text []byte) bool {
	var l Literals
	l.Reset(text)
	for _, ok := l.Next(); ok; _, ok = l.Next() {
	}
	secrecy := l.Secrecy()
	if secrecy&Secret != 0 || secrecy == 0 {
		return secrecy != 0
	}
	l.Reset(text)
	for t, ok := l.Next(); ok; t, ok = l.Next() {
		if secrecy.Reveals(text[t.Start:t.End]) {
			return true
		}
	}
	return false
}
