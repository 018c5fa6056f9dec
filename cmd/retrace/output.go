package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape makes foreign text safe to show: SQL, names and messages of peers can
// hold terminal commands, forged log lines and characters that reorder what
// follows them. It keeps printable text as it is and never returns a newline.
func escape(s string) string {
	if !needsEscape(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		writeEscaped(&b, r, s[i:i+size])
		i += size
	}
	return b.String()
}

// escapeLines is escape for text of ours that has lines.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = escape(lines[i])
	}
	return strings.Join(lines, "\n")
}

func needsEscape(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") || !shown(r) {
			return true
		}
	}
	return false
}

// shown tells whether a character can go to a terminal. unicode.IsPrint is
// false for controls, for format characters (bidi overrides, zero width), for
// separators other than the plain space, and for unassigned code points.
func shown(r rune) bool { return unicode.IsPrint(r) }

func writeEscaped(b *strings.Builder, r rune, raw string) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == utf8.RuneError && len(raw) == 1, r < 0x20, r == 0x7f:
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case shown(r):
		b.WriteString(raw)
	case r > 0xffff:
		fmt.Fprintf(b, `\U%08x`, r)
	default:
		fmt.Fprintf(b, `\u%04x`, r)
	}
}

// printJSON writes v as the one JSON value of a verb.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
