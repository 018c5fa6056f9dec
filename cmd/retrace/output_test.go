package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"select 'été', 'テーブル 😀'":  "select 'été', 'テーブル 😀'",
		"a\nb\r\tc":               `a\nb\r\tc`,
		"\x1b[31mred\x07\x00\x7f": `\x1b[31mred\x07\x00\x7f`,
		"\u009b31m":               `\u009b31m`, // the one-character form of ESC [
		"a\u202eb\u2066\u200b":    `a\u202eb\u2066\u200b`,
		"\u2028\u00a0\ufeff":      `\u2028\u00a0\ufeff`,
		"\xff\xc3":                `\xff\xc3`,
		"\uFFFD":                  "\uFFFD",
		"\U000e0041":              `\U000e0041`, // tag characters are invisible
		"back\\slash":             `back\slash`,
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
	if got := escapeLines("one\x1b\ntwo"); got != "one\\x1b\ntwo" {
		t.Errorf("escapeLines: %q", got)
	}
}

func TestEscapedIsPrintable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		for _, r := range escape(s) {
			if !unicode.IsPrint(r) {
				t.Fatalf("escape(%q) holds %q", s, r)
			}
		}
	})
}

func TestJSONIsSafeAndTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := map[string]any{"text": rapid.String().Draw(t, "text") + "\u202e\x7f\u2028\U000e0041é<&>"}
		var b bytes.Buffer
		if err := printJSON(&b, in); err != nil {
			t.Fatal(err)
		}
		for _, r := range strings.ReplaceAll(b.String(), "\n", "") {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q holds %q", b.String(), r)
			}
		}
		var out map[string]any
		if err := json.Unmarshal(b.Bytes(), &out); err != nil || !reflect.DeepEqual(in, out) {
			t.Fatalf("%q became %q (%v)", in, out, err)
		}
	})
}

func TestExitCodes(t *testing.T) {
	plain := errors.New("plain")
	code := func(n int) error { return exitError{Code: n, Err: errors.New("coded")} }
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{plain, 1},
		{code(4), 4},
		{&exitError{Code: 5}, 5},
		{errors.Join(code(3), code(4)), 3},
		{errors.Join(code(4), code(5), code(3)), 5},
		{errors.Join(code(5), plain), 1},
		{errors.Join(code(130), code(3)), 3},
		{errors.Join(nil, errors.Join(code(143), nil)), 143},
	} {
		if got := report(&bytes.Buffer{}, c.err); got != c.want {
			t.Errorf("%v: exit %d, want %d", c.err, got, c.want)
		}
	}
}

func TestErrorsAreSaidOnceEach(t *testing.T) {
	var b bytes.Buffer
	report(&b, errors.Join(usageError("retrace --help", "no \x1b verb"), exitError{Code: 3}, errors.New("two\nlines")))
	want := "retrace: no \\x1b verb\nTry: retrace --help\nretrace: two\nlines\n"
	if b.String() != want {
		t.Errorf("got %q", b.String())
	}
}
