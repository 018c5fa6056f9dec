package sqltext

import "bytes"

// Effect of a statement on its session, as far as it matters to whoever
// follows prepared statements, settings and transactions.
type Effect byte

// The effects.
const (
	NoEffect   Effect = iota
	Commit            // COMMIT, END, PREPARE TRANSACTION: answered ROLLBACK it has failed
	Rollback          // ROLLBACK, ABORT, ROLLBACK TO
	Prepare           // PREPARE name
	Deallocate        // DEALLOCATE name or ALL
	Discard           // DISCARD
	Set               // SET
	SetConfig         // SELECT set_config(…)
	Reset             // RESET
	Savepoint         // SAVEPOINT name
	Release           // RELEASE name
)

// Statement is one of a text's statements that have an effect.
type Statement struct {
	Effect Effect
	Name   []byte // of Prepare and Deallocate, as written; nil means ALL
	Text   []byte
	Index  int // of the text's statements, the empty ones not counted

	selects bool // its first word was SELECT
}

// Effects returns the statements of a text that have an effect, in order; nil,
// at little cost, for almost every text there is.
func Effects(src []byte) []Statement {
	single := true
	if n := bytes.IndexByte(src, ';'); n >= 0 {
		single = blank(src[n+1:])
	}
	if single && begins(src) == NoEffect {
		return nil
	}
	return effects(src)
}

func blank(b []byte) bool {
	for _, c := range b {
		if class[c] != space && c != ';' {
			return false
		}
	}
	return true
}

// begins looks at the first word only.
func begins(src []byte) Effect {
	i := 0
	for i < len(src) && class[src[i]] != letter {
		if end := comment(src, i); end > i {
			i = end
			continue
		}
		if class[src[i]] != space && src[i] != ';' {
			return NoEffect
		}
		i++
	}
	j := i
	for j < len(src) && inWord[src[j]] {
		j++
	}
	if isSelect(src[i:j]) {
		return callsSetConfig(src[j:])
	}
	return effect(src[i:j])
}

func isSelect(w []byte) bool { return len(w) == 6 && w[0]|0x20 == 's' && hasPrefix(w, "select") }

// callsSetConfig looks at what follows SELECT.
func callsSetConfig(src []byte) Effect {
	i := 0
	for i < len(src) && (class[src[i]] == space || src[i] == '/' || src[i] == '-') {
		i = max(i+1, comment(src, i))
	}
	if hasPrefix(src[i:], "set_config") || hasPrefix(src[i:], "pg_catalog") {
		return SetConfig
	}
	return NoEffect
}

func effect(w []byte) Effect {
	if len(w) == 0 {
		return NoEffect
	}
	switch w[0] | 0x20 { // most words need no more than this
	case 'c', 'e', 'r', 'a', 'p', 'd':
	case 's':
		if len(w) != 3 && len(w) != 9 {
			return NoEffect
		}
	default:
		return NoEffect
	}
	var buf [16]byte
	l, _ := lower(&buf, w)
	switch string(l) {
	case "commit", "end":
		return Commit
	case "rollback", "abort":
		return Rollback
	case "prepare":
		return Prepare
	case "deallocate":
		return Deallocate
	case "discard":
		return Discard
	case "set":
		return Set
	case "reset":
		return Reset
	case "savepoint":
		return Savepoint
	case "release":
		return Release
	}
	return NoEffect
}

// effects goes through all statements.
func effects(src []byte) []Statement {
	var found []Statement
	var s Scanner
	s.Reset(src)
	for from, index := 0, 0; ; {
		st, end, done := statement(&s, src, from)
		st.Index = index
		if st.Effect != NoEffect {
			found = append(found, st)
		}
		if !blank(st.Text) {
			index++
		}
		if done {
			return found
		}
		from = end
	}
}

// statement reads up to and including the next ; that ends a statement.
func statement(s *Scanner, src []byte, from int) (st Statement, end int, done bool) {
	for n := 0; ; {
		t := s.Next()
		switch t.Kind {
		case Comment:
			continue
		case EOF, End:
			st.Text = src[from:t.Start]
			return st, t.End, t.Kind == EOF
		}
		st.take(n, t, src[t.Start:t.End])
		n++
	}
}

// take looks at the n-th token of a statement.
func (st *Statement) take(n int, t Token, w []byte) {
	switch {
	case n == 0 && t.Kind == Word:
		st.Effect, st.selects = effect(w), isSelect(w)
	case n == 0 || n > 2 || t.Kind != Word && t.Kind != Quoted:
	case n == 1 && st.selects:
		if isWord(w, "set_config") || isWord(w, "pg_catalog") {
			st.Effect = SetConfig
		}
	case n == 1 && st.Effect == Prepare && len(w) == 11 && hasPrefix(w, "transaction"):
		st.Effect = Commit
	case n == 1 && (st.Effect == Commit || st.Effect == Rollback) && len(w) == 8 && hasPrefix(w, "prepared"):
		st.Effect = NoEffect // COMMIT PREPARED and ROLLBACK PREPARED have tags of their own
	case st.Effect == Prepare && n == 1, st.Effect == Deallocate && (n == 1 || isWord(st.Name, "prepare")):
		st.Name = w
		if st.Effect == Deallocate && isWord(w, "all") {
			st.Name = nil
		}
	}
}

func isWord(w []byte, p string) bool { return len(w) == len(p) && hasPrefix(w, p) }

// Name returns the name an identifier as written stands for: folded to lower
// case (ASCII) unless quoted, and cut as the server cuts it.
func Name(w []byte) string {
	if len(w) >= 2 && w[0] == '"' {
		w = bytes.ReplaceAll(w[1:len(w)-1], []byte(`""`), []byte(`"`))
		return string(w[:min(len(w), 63)])
	}
	folded := []byte(string(w[:min(len(w), 63)]))
	for i, b := range folded {
		if b >= 'A' && b <= 'Z' {
			folded[i] = b | 0x20
		}
	}
	return string(folded)
}
