package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
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
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(safeJSON(b), '\n'))
	return err
}

// safeJSON escapes what JSON leaves as it is and a terminal should not see.
// The value stays the same.
func safeJSON(b []byte) []byte {
	safe := func(r rune) bool { return shown(r) || r == '\n' }
	if bytes.IndexFunc(b, func(r rune) bool { return !safe(r) }) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case safe(r):
			out = append(out, b[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		b = b[size:]
	}
	return out
}
