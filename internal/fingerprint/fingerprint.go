// Package fingerprint says what a text of SQL is, without running it: which
// statement it is whatever its values (Text, ID), what it does (Verbs) and to
// which tables (Tables). It reads tokens, it does not parse: texts that are cut
// off or of another dialect give what can be told.
//
// A text costs microseconds. Callers ask once per dictionary entry, not per event.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
)

// Text is the text that all statements share that differ only in their values;
// see fold.
func Text(sql string) string { return fold(sql) }

// ID is the short name of a Text, by which reports and filters call it.
func ID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// Verbs are the first words of the statements in a text, in lower case:
// "begin", "insert". A statement that begins with WITH is a "with".
func Verbs(sql string) []string {
	var verbs []string
	first := true
	for t := range tokens(sql) {
		switch {
		case t.text == ";" && t.kind == punct:
			first = true
		case first && t.text != "(":
			first = false
			if t.kind == word {
				verbs = append(verbs, t.text)
			}
		}
	}
	return verbs
}

// tokens yields the first tokens of a text.
func tokens(sql string) func(yield func(token) bool) {
	return func(yield func(token) bool) {
		scan := newScanner(sql)
		var last token
		for range maxTokens {
			last = scan.next(last.operand())
			if last.kind == end || !yield(last) {
				return
			}
		}
	}
}
