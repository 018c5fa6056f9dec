package sqltext

import (
	"strings"
	"testing"
	"time"
)

// mark shows a text's values in ‹ ›.
func mark(src string) string {
	var l Literals
	l.Reset([]byte(src))
	var b strings.Builder
	done := 0
	for {
		t, ok := l.Next()
		if !ok {
			return b.String() + src[done:]
		}
		b.WriteString(src[done:t.Start] + "‹" + src[t.Start:t.End] + "›")
		done = t.End
	}
}

func TestLiterals(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", ""},
		{"select 1", "select ‹1›"},
		{"select 1.5, .5, 1., 1e-5, 1.5E+10, 0x1f, 0o17, 0b101, 1_000", "select ‹1.5›, ‹.5›, ‹1.›, ‹1e-5›, ‹1.5E+10›, ‹0x1f›, ‹0o17›, ‹0b101›, ‹1_000›"},
		{"a[1..10]", "a[‹1›..‹10›]"},
		{"id=-1", "id=‹-1›"},
		{"id = -1", "id = ‹-1›"},
		{"id = - 1", "id = ‹- 1›"},
		{"a-1", "a-‹1›"},
		{"a - 1", "a - ‹1›"},
		{"a -1", "a -‹1›"},
		{"(a) -1, x[1] -1, $1 -1, 1 -1, 'a' -1, \"a\" -1", "(a) -‹1›, x[‹1›] -‹1›, $1 -‹1›, ‹1› -‹1›, ‹'a'› -‹1›, \"a\" -‹1›"},
		{"select -1, +2", "select ‹-1›, ‹+2›"},
		{"select-1", "select‹-1›"},
		{"limit -1 offset -2", "limit ‹-1› offset ‹-2›"},
		{"IN (-1,2)", "IN (‹-1›,‹2›)"},
		{"3*-3", "‹3›*‹-3›"},
		{"3*3", "‹3›*‹3›"},
		{"a@-1", "a@-‹1›"},
		{"a=-b", "a=-b"},
		{"a=+-1", "a=+‹-1›"},
		{"select 'a', 'it''s', '', ''''", "select ‹'a'›, ‹'it''s'›, ‹''›, ‹''''›"},
		{`select 'a\' , 1`, `select ‹'a\'› , ‹1›`},
		{`select E'a\'b', e'\\', 1`, `select ‹E'a\'b'›, ‹e'\\'›, ‹1›`},
		{`select U&'d\0061t', u&"d\0061", N'x', B'01', x'1F'`, `select ‹U&'d\0061t'›, u&"d\0061", ‹N'x'›, ‹B'01'›, ‹x'1F'›`},
		{"select U & 'x'", "select U & ‹'x'›"},
		{"select type'x'", "select type‹'x'›"},
		{"select $$a$$, $t$a$$b$t$, $1, $1$$x$$", "select ‹$$a$$›, ‹$t$a$$b$t$›, $1, $1‹$$x$$›"},
		{"a$1$b + 1", "a$1$b + ‹1›"},
		{"$tag no$", "$tag no$"},
		{"select /* a /* b */ c */ 1 -- end\n, 2", "select ‹/* a /* b */ c */› ‹1› ‹-- end›\n, ‹2›"},
		{"1--2", "‹1›‹--2›"},
		{"1-/*x*/2", "‹1›-‹/*x*/›‹2›"},
		{"a /*x*/ -1", "a ‹/*x*/› -‹1›"},
		{`select "a'b""c", users_2009, T1.c2, été, テーブル from "T"`, `select "a'b""c", users_2009, T1.c2, été, テーブル from "T"`},
		{"'1'::int, '{1,2}'::int[], 1::text", "‹'1'›::int, ‹'{1,2}'›::int[], ‹1›::text"},
		{"interval '1 day'", "interval ‹'1 day'›"},
		{"select 'open", "select ‹'open›"},
		{"select $$open", "select ‹$$open›"},
		{"select /* open", "select ‹/* open›"},
		{`select "open`, `select "open`},
		{"select E'x\\", "select ‹E'x\\›"},
		{"select '\xff\x00\xfe', \xff\xfe, 1", "select ‹'\xff\x00\xfe'›, \xff\xfe, ‹1›"},
		{"a\x00b 1", "a\x00b ‹1›"},
		{"1and 2", "‹1›and ‹2›"},
		{"x'", "‹x'›"},
		{"e", "e"},
		{"u&", "u&"},
		{"$", "$"},
		{"-", "-"},
		{"/", "/"},
		{".", "."},
		{"0x", "‹0›x"},
		// MySQL-isms and placeholders of other drivers stay what they are
		{"where id = ? and a = :id and b = $?", "where id = ? and a = :id and b = $?"},
	} {
		if got := mark(c.src); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.src, got, c.want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"select -1", "select 0"},
		{"select-1", "select 0"},
		{"select 1and 2", "select 0 and 0"},
		{"select/**/1 /* x */ , 'a' -- y\nfrom t", "select 0 , '' from t"},
		{"select $$x$$, E'\\'', $1", "select '', '', $1"},
		{"a - 1", "a - 0"},
		{"a-1", "a-0"},
		{"ALTER USER joe PASSWORD hunter2", "ALTER USER joe PASSWORD ''"},
	} {
		if got := string(Fold(nil, []byte(c.src))); got != c.want {
			t.Errorf("%q: got %q, want %q", c.src, got, c.want)
		}
	}
}

// Hostile texts must take linear time: each of these would take minutes
// otherwise.
func TestLinear(t *testing.T) {
	n := 1 << 17
	for _, unit := range []string{"(", "$", "$$", "$a$", "'", "\"", "/*", "*/", "--", "-", "1", "1.", "e'", "E'\\", "u&'", "$a", ";", "a ", "''", "$1", "+-", ".", "password ", "alter user ", "\xff", "do $$", "select dblink('"} {
		src := []byte(strings.Repeat(unit, n))
		start := time.Now()
		Fold(nil, src)
		Effects(src)
		if took := time.Since(start); took > 10*time.Second { // quadratic would be minutes
			t.Errorf("%q × %d took %v", unit, n, took)
		}
	}
	var tags strings.Builder // every tag another one
	for i := range n / 8 {
		tags.WriteString("$t" + strings.Repeat("x", i%50) + "$ ")
	}
	Fold(nil, []byte(tags.String()))
}

func FuzzSQLText(f *testing.F) {
	for _, s := range []string{"select 1", "$a$ $b$", "E'\\", "/*/**/", "u&\"x", "alter user a password b", "prepare a as select 1; deallocate a", "-.5", "1e", "set x.token to y"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var s Scanner
		s.Reset(src)
		at := 0
		for {
			tok := s.Next()
			if tok.Start < at || tok.End < tok.Start || tok.End > len(src) {
				t.Fatalf("token %+v after %d of %d", tok, at, len(src))
			}
			for _, b := range src[at:tok.Start] {
				if class[b] != space {
					t.Fatalf("%q left out", b)
				}
			}
			if tok.Kind == EOF {
				break
			}
			if tok.End == tok.Start {
				t.Fatalf("empty token %+v", tok)
			}
			at = tok.End
		}
		var l Literals
		l.Reset(src)
		for _, ok := l.Next(); ok; _, ok = l.Next() {
		}
		Fold(nil, src)
		for _, st := range Effects(src) {
			Name(st.Name)
		}
	})
}
