package pg

import (
	"strings"
	"testing"
)

func lines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// Each script must give the same calls however its bytes are cut.
func check(t *testing.T, o Options, text, want string, quiet bool) {
	t.Helper()
	steps := script(t, text)
	longest := 0
	for _, s := range steps {
		longest = max(longest, len(s.bytes))
	}
	expected := strings.Join(lines(want), "\n")
	for cut := 0; cut < longest; cut++ {
		l := &log{quiet: quiet, times: strings.Contains(want, "@")}
		if err := play(t, l, o, steps, cut, "client_gone"); err != nil {
			l.add("fault %v", err)
		}
		if got := strings.Join(l.lines, "\n"); got != expected {
			t.Fatalf("cut at %d:\n got:\n%s\nwant:\n%s", cut, got, expected)
		}
	}
	l := &log{quiet: quiet, times: strings.Contains(want, "@")}
	if err := bytewise(l, o, steps, "client_gone"); err != nil {
		l.add("fault %v", err)
	}
	if got := strings.Join(l.lines, "\n"); got != expected {
		t.Fatalf("byte by byte:\n got:\n%s\nwant:\n%s", got, expected)
	}
}

var conversations = []struct{ name, script, want string }{
	{"the partition: simple query", `
		> Q:select 1
		< T | D | C:SELECT 1 | Z:I
		> X`, `
		#1 q Q! "select 1"
		#1 -> ok 1/1 I
		#2 e X!
		#2 -> ok 0/0 I`},
	{"the partition: P D P D S", `
		> P:a:select 1 | D:S:a | P:b:select 2 | D:S:b | S
		< 1 | t | T | 1 | t | n | Z:I
		> X`, `
		#1 p PD "select 1"
		#2 p PDS! "select 2"
		#1 -> ok 0/0 I
		#2 -> ok 0/0 I
		#3 e X!
		#3 -> ok 0/0 I`},
	{"the partition: P B D E S is one", `
		> P::select 1 | B:: | D:P: | E: | S
		< 1 | 2 | T | D | C:SELECT 1 | Z:I
		> X`, `
		#1 x PBDES! =1 "select 1"
		#1 -> ok 1/1 I =1
		#2 e X!
		#2 -> ok 0/0 I`},
	{"the partition: B E B E S is two", `
		> P:s:select $1 | S
		< 1 | Z:I
		> B::s:1 | E: | B::s:2 | E: | S
		< 2 | D | C:SELECT 1 | 2 | D | C:SELECT 1 | Z:I
		> X`, `
		#1 p PS! "select $1"
		#1 -> ok 0/0 I
		#2 x BE =1
		#3 x BES! =1
		#2 -> ok 1/1 I =1
		#3 -> ok 1/1 I =1
		#4 e X!
		#4 -> ok 0/0 I`},
	{"the partition: P B E H, then S", `
		> P::select 1 | B:: | E: | H
		< 1 | 2 | D | C:SELECT 1
		> S
		< Z:I
		> X`, `
		#1 x PBEH! =1 "select 1"
		#1 -> ok 1/1 I =1 @2-2
		#2 s S!
		#2 -> ok 0/0 I @4-4
		#3 e X!
		#3 -> ok 0/0 I @5-5`},
	{"the partition: Bind of a portal executed later, and fetches", `
		> B:p:s | S
		< 2 | Z:T
		> E:p:2 | S
		< D | D | s | Z:T
		> E:p:2 | S
		< D | C:SELECT 1 | Z:T
		> E:p:2 | E:p:2 | S
		< C:SELECT 0 | C:SELECT 0 | Z:T
		> C:P:p | C:S:x | S | X
		< 3 | 3 | Z:I`, `
		#1 s BS!
		#1 -> ok 0/0 T
		#2 x ES!
		#2 -> ok 2/0 T
		#3 h ES!
		#3 -> ok 1/1 T
		#4 h E
		#5 h ES!
		#4 -> ok 0/1 T
		#5 -> ok 0/1 T
		#6 z CCS!
		#7 e X!
		#7 -> ok 0/0 T
		#6 -> ok 0/0 I`},
	{"the partition: Close, Describe, Sync, Flush alone", `
		> C:S:a | D:S:b | H | S | D:P: | B:: | C:S:b | H | X
		< 3 | t | n | Z:I | n | 2 | 3`, `
		#1 z C
		#2 s DH!
		#3 s S!
		#4 s DB
		#5 z CH!
		#6 e X!
		#6 -> ok 0/0 I
		#1 -> ok 0/0 I
		#2 -> ok 0/0 I
		#3 -> ok 0/0 I
		#4 -> ok 0/0 I
		#5 -> ok 0/0 I`},
	{"an open event is closed by Terminate and answered though it never had a Sync", `
		> P:s:select 1 | X
		< 1`, `
		#1 p P "select 1"
		#2 e X!
		#2 -> ok 0/0 I
		#1 -> ok 0/0 I`},
	{"PG-02: a pipeline with an error in the middle", `
		> P::insert 90 | B:: | E: | P::select 1/0 | B:: | E: | P::insert 91 | B:: | E: | S
		< 1 | 2 | C:INSERT 0 1 | 1 | 2
		< E:22012 | Z:I
		> X`, `
		#1 x PBE =1 "insert 90"
		#2 x PBE =2 "select 1/0"
		#3 x PBES! =3 "insert 91"
		#1 -> ok 1/1 I =1 @2-2
		#2 -> failed(22012) 0/0 I =2 @2-3
		#3 -> skipped(aborted) 0/0 I =3 @3-3
		#4 e X!
		#4 -> ok 0/0 I @4-4`},
	{"an error is known before the pipeline is whole", `
		> P::bad | B:: | E: | P::two | H
		< E:42601
		> B:: | E:
		> P::three | B:: | E: | S
		< Z:I
		> X`, `
		#1 x PBE =1 "bad"
		#2 p PH! "two"
		#1 -> failed(42601) 0/0 I =1 @2-2
		#2 -> skipped(aborted) 0/0 I @2-2
		#3 x BE =2
		#3 -> skipped(aborted) 0/0 I =2 @3-3
		#4 x PBES! =4 "three"
		#4 -> skipped(aborted) 0/0 I =4 @5-5
		#5 e X!
		#5 -> ok 0/0 I @6-6`},
	{"a query the server discards after an error gets no ReadyForQuery", `
		> P::bad | Q:select 1 | S
		< E:42601 | Z:I
		> Q:select 2
		< C:SELECT 1 | Z:I`, `
		#1 p P "bad"
		#2 q Q! "select 1"
		#3 s S!
		#1 -> failed(42601) 0/0 I
		#2 -> skipped(aborted) 0/0 I
		#3 -> ok 0/0 I
		#4 q Q! "select 2"
		#4 -> ok 1/1 I
		#5 e !
		#5 -> ok(client_gone) 0/0 I`},
	{"an error at commit is the last Execute's", `
		> B::s | E: | S
		< 2 | C:INSERT 0 1 | E:23503 | Z:I
		> X`, `
		#1 x BES!
		#1 -> failed(23503) 1/1 I
		#2 e X!
		#2 -> ok 0/0 I`},
	{"PG-06: several unnamed statements in one pipeline", `
		> P::select 11 | B:: | E: | P::select 22 | B:: | E: | S
		< 1 | 2 | D | C:SELECT 1 | 1 | 2 | D | C:SELECT 1 | Z:I
		> X`, `
		#1 x PBE =1 "select 11"
		#2 x PBES! =2 "select 22"
		#1 -> ok 1/1 I =1
		#2 -> ok 1/1 I =2
		#3 e X!
		#3 -> ok 0/0 I`},
	{"PG-08: Close of what is not there; a Parse that fails; a name used again", `
		> C:S:none | S
		< 3 | Z:I
		> P:x:bad | C:S:x | S
		< E:42601 | Z:I
		> P:s2:A | C:S:s2 | P:s2:B | B::s2 | E: | S
		< 1 | 3 | 1 | 2 | D | C:SELECT 1 | Z:I
		> B::s2 | E: | S
		< 2 | D | C:SELECT 1 | Z:I
		> X`, `
		#1 z CS!
		#1 -> ok 0/0 I
		#2 p P "bad"
		#3 z CS!
		#2 -> failed(42601) 0/0 I
		#3 -> skipped(aborted) 0/0 I
		#4 p P "A"
		#5 z C
		#6 x PBES! =6 "B"
		#4 -> ok 0/0 I
		#5 -> ok 0/0 I
		#6 -> ok 1/1 I =6
		#7 x BES! =6
		#7 -> ok 1/1 I =6
		#8 e X!
		#8 -> ok 0/0 I`},
	{"PG-09: a name prepared again without Close keeps its statement", `
		> P:s1:select 1 | P:s1:select 2 | S
		< 1 | E:42P05 | Z:I
		> B::s1 | E: | S
		< 2 | D | C:SELECT 1 | Z:I
		> X`, `
		#1 p P "select 1"
		#2 p PS! "select 2"
		#1 -> ok 0/0 I
		#2 -> failed(42P05) 0/0 I
		#3 x BES! =1
		#3 -> ok 1/1 I =1
		#4 e X!
		#4 -> ok 0/0 I`},
	{"a guess made before the error is known is put right by the reply", `
		> P:s1:one | S
		< 1 | Z:I
		> P:s1:two | S | B::s1 | E: | S
		< E:42P05 | Z:I | 2 | C:SELECT 1 | Z:I
		> B::s1 | E: | S
		< 2 | C:SELECT 1 | Z:I`, `
		#1 p PS! "one"
		#1 -> ok 0/0 I
		#2 p PS! "two"
		#3 x BES! =2
		#2 -> failed(42P05) 0/0 I
		#3 -> ok 1/1 I =1
		#4 x BES! =1
		#4 -> ok 1/1 I =1
		#5 e !
		#5 -> ok(client_gone) 0/0 I`},
	{"PG-11: empty, comment-only and multi-statement queries", `
		> Q:
		< I | Z:I
		> Q:-- c
		< I | Z:I
		> Q:select 1; ; select 2
		< T | D | C:SELECT 1 | T | D | C:SELECT 1 | Z:I
		> Q: ;; ; begin; end
		< C:BEGIN | C:COMMIT | Z:I
		> P:: | B:: | E: | S
		< 1 | 2 | I | Z:I
		> X`, `
		#1 q Q!
		#1 -> ok 0/1 I
		#2 q Q! "-- c"
		#2 -> ok 0/1 I
		#3 q Q! "select 1; ; select 2"
		#3 -> ok 2/2 I
		#4 q Q! " ;; ; begin; end"
		#4 -> ok 0/2 I
		#5 x PBES! =5
		#5 -> ok 0/1 I =5
		#6 e X!
		#6 -> ok 0/0 I`},
	{"PG-12: an error inside a multi-statement query", `
		> Q:insert 77; select 1/0; insert 78
		< C:INSERT 0 1 | E:22012 | Z:I
		> X`, `
		#1 q Q! "insert 77; select 1/0; insert 78"
		#1 -> failed(22012) 1/1 I
		#2 e X!
		#2 -> ok 0/0 I`},
	{"PG-15: asynchronous messages answer nothing", `
		< A | N | S:TimeZone:UTC
		> Q:set timezone to 'PST8PDT'
		< N | N | C:SET | S:TimeZone:PST8PDT | Z:I
		< A
		> B:: | E:
		< N
		> S
		< N | 2 | A | C:DO | S:x:y | Z:I | A
		> X`, `
		setting TimeZone=UTC
		#1 q Q! "set timezone to 'PST8PDT'"
		setting TimeZone=PST8PDT
		#1 -> ok 0/1 I @3-3
		#2 x BES!
		setting x=y
		#2 -> ok 0/1 I @8-8
		#3 e X!
		#3 -> ok 0/0 I @9-9`},
	{"PG-22: three queries in one write, the second fails; a query with an extended one", `
		> Q:select 1 | Q:select 1/0 | Q:select 3
		< C:SELECT 1 | Z:I | E:22012 | Z:I | C:SELECT 1 | Z:I
		> Q:set x to 1 | P::select 2 | D:S: | B:: | E: | S
		< C:SET | Z:I | 1 | t | T | 2 | D | C:SELECT 1 | Z:I
		> X`, `
		#1 q Q! "select 1"
		#2 q Q! "select 1/0"
		#3 q Q! "select 3"
		#1 -> ok 1/1 I
		#2 -> failed(22012) 0/0 I
		#3 -> ok 1/1 I
		#4 q Q! "set x to 1"
		#5 x PDBES! =5 "select 2"
		#4 -> ok 0/1 I
		#5 -> ok 1/1 I =5
		#6 e X!
		#6 -> ok 0/0 I`},
	{"PG-24: function calls", `
		> F
		< V | Z:I
		> F
		< E:42883 | Z:I
		> X`, `
		#1 f F!
		#1 -> ok 0/0 I
		#2 f F!
		#2 -> failed(42883) 0/0 I
		#3 e X!
		#3 -> ok 0/0 I`},
	{"COMMIT answered ROLLBACK", `
		> Q:begin
		< C:BEGIN | Z:T
		> Q:bad
		< E:42601 | Z:E
		> Q:COMMIT
		< C:ROLLBACK | Z:I
		> Q:begin; rollback
		< C:BEGIN | C:ROLLBACK | Z:I
		> P:c:/* x */ commit work | S
		< 1 | Z:I
		> B::c | E: | S
		< 2 | C:ROLLBACK | Z:I
		> Q:rollback; end; prepare transaction 'x'
		< C:ROLLBACK | C:COMMIT | C:ROLLBACK | Z:I
		> Q:rollback to a; commit
		< C:ROLLBACK | C:COMMIT | Z:I`, `
		#1 q Q! "begin"
		#1 -> ok 0/1 T
		#2 q Q! "bad"
		#2 -> failed(42601) 0/0 E
		#3 q Q! "COMMIT"
		#3 -> failed(rolled_back) 0/1 I
		#4 q Q! "begin; rollback"
		#4 -> ok 0/2 I
		#5 p PS! "/* x */ commit work"
		#5 -> ok 0/0 I
		#6 x BES! =5
		#6 -> failed(rolled_back) 0/1 I =5
		#7 q Q! "rollback; end; prepare transaction 'x'"
		#7 -> failed(rolled_back) 0/3 I
		#8 q Q! "rollback to a; commit"
		#8 -> ok 0/2 I
		#9 e !
		#9 -> ok(client_gone) 0/0 I`},
	{"COPY FROM STDIN, simple", `
		> Q:copy t from stdin
		< G
		> d:a | d:b
		> d:c | c
		< C:COPY 3 | Z:I
		> X`, `
		#1 q Q! "copy t from stdin"
		#2 d dddc!
		#2 -> ok 0/0 I @3-3
		#1 -> ok 3/1 I @2-5
		#3 e X!
		#3 -> ok 0/0 I @6-6`},
	{"COPY FROM STDIN, everything in one write", `
		> Q:copy t from stdin | d:a | c | Q:select 1
		< G | C:COPY 1 | Z:I | C:SELECT 1 | Z:I
		> X`, `
		#1 q Q! "copy t from stdin"
		#2 d dc!
		#2 -> ok 0/0 I
		#3 q Q! "select 1"
		#1 -> ok 1/1 I
		#3 -> ok 1/1 I
		#4 e X!
		#4 -> ok 0/0 I`},
	{"COPY FROM STDIN fails while data is coming", `
		> Q:copy t from stdin
		< G
		> d:a | d:b
		< E:22P02 | Z:I
		> d:c | c
		> Q:select 1
		< C:SELECT 1 | Z:I
		> X`, `
		#1 q Q! "copy t from stdin"
		#2 d dd!
		#2 -> ok 0/0 I
		#1 -> failed(22P02) 0/0 I
		#3 d dc!
		#3 -> ok 0/0 I
		#4 q Q! "select 1"
		#4 -> ok 1/1 I
		#5 e X!
		#5 -> ok 0/0 I`},
	{"the client fails a COPY; the statement never was one", `
		> Q:copy t from stdin
		< G
		> f:no more
		< E:57014 | Z:I
		> Q:copy nosuch from stdin | d:a | c | Q:copy t from stdin | d:x | c
		< E:42P01 | Z:I | G | C:COPY 1 | Z:I
		> X`, `
		#1 q Q! "copy t from stdin"
		#2 d f!
		#2 -> ok 0/0 I
		#1 -> failed(57014) 0/0 I
		#3 q Q! "copy nosuch from stdin"
		#4 d dc!
		#4 -> ok 0/0 I
		#5 q Q! "copy t from stdin"
		#6 d dc!
		#6 -> ok 0/0 I
		#3 -> failed(42P01) 0/0 I
		#5 -> ok 1/1 I
		#7 e X!
		#7 -> ok 0/0 I`},
	{"two COPYs in one query", `
		> Q:copy a from stdin; copy b from stdin
		< G
		> d:1 | c
		< C:COPY 1 | G
		> d:2 | c
		< C:COPY 1 | Z:I
		> X`, `
		#1 q Q! "copy a from stdin; copy b from stdin"
		#2 d dc!
		#2 -> ok 0/0 I
		#3 d dc!
		#3 -> ok 0/0 I
		#1 -> ok 2/2 I
		#4 e X!
		#4 -> ok 0/0 I`},
	{"COPY FROM STDIN, extended, with the Sync that the server ignores", `
		> P::copy t from stdin | B:: | D:P: | E: | S
		< 1 | 2 | n | G
		> d:a | d:b | c | S
		< C:COPY 2 | Z:I
		> Q:select 1
		< C:SELECT 1 | Z:I
		> X`, `
		#1 x PBDES! =1 "copy t from stdin"
		#2 d ddcS!
		#1 -> ok 2/1 I =1 @2-4
		#2 -> ok 0/0 I @4-4
		#3 q Q! "select 1"
		#3 -> ok 1/1 I @6-6
		#4 e X!
		#4 -> ok 0/0 I @7-7`},
	{"COPY FROM STDIN, extended, in one write", `
		> P::copy t from stdin | B:: | E: | S | d:a | c | S | Q:select 1
		< 1 | 2 | G | C:COPY 1 | Z:I | C:SELECT 1 | Z:I
		> X`, `
		#1 x PBES! =1 "copy t from stdin"
		#2 d dcS!
		#3 q Q! "select 1"
		#1 -> ok 1/1 I =1
		#2 -> ok 0/0 I
		#3 -> ok 1/1 I
		#4 e X!
		#4 -> ok 0/0 I`},
	{"COPY FROM STDIN, extended, with Flush; its data ends and the Sync comes later", `
		> P::copy t from stdin | B:: | E: | H
		< 1 | 2 | G
		> d:a | c
		> S
		< C:COPY 1 | Z:I
		> X`, `
		#1 x PBEH! =1 "copy t from stdin"
		#2 d dcS!
		#1 -> ok 1/1 I =1 @2-5
		#2 -> ok 0/0 I @5-5
		#3 e X!
		#3 -> ok 0/0 I @6-6`},
	{"COPY FROM STDIN, extended, fails in its data: one ReadyForQuery", `
		> P::copy t from stdin | B:: | E: | S
		< 1 | 2 | G
		> d:a | d:b | c | S
		< E:22P02 | Z:I
		> Q:select 1
		< C:SELECT 1 | Z:I
		> X`, `
		#1 x PBES! =1 "copy t from stdin"
		#2 d ddcS!
		#1 -> failed(22P02) 0/0 I =1
		#2 -> ok 0/0 I
		#3 q Q! "select 1"
		#3 -> ok 1/1 I
		#4 e X!
		#4 -> ok 0/0 I`},
	{"COPY FROM STDIN, extended, fails before it reads anything: the Sync was answered", `
		> P::copy t from stdin | B:: | E: | S
		< 1 | 2 | G | E:P0001 | Z:I
		> Q:select 1
		< C:SELECT 1 | Z:I
		> X`, `
		#1 x PBES! =1 "copy t from stdin"
		#1 -> failed(P0001) 0/0 I =1
		#2 q Q! "select 1"
		#2 -> ok 1/1 I
		#3 e X!
		#3 -> ok 0/0 I`},
	{"the same with the data sent already: two ReadyForQuery", `
		> P::copy t from stdin | B:: | E: | S | d:a | c | S
		< 1 | 2 | G | E:P0001 | Z:I | Z:I
		> P::select 1 | B:: | E: | S
		< 1 | 2 | C:SELECT 1 | Z:I
		> X`, `
		#1 x PBES! =1 "copy t from stdin"
		#2 d dcS!
		#1 -> failed(P0001) 0/0 I =1
		#2 -> ok 0/0 I
		#3 x PBES! =3 "select 1"
		#3 -> ok 1/1 I =3
		#4 e X!
		#4 -> ok 0/0 I`},
	{"COPY TO STDOUT, simple and extended", `
		> Q:copy t to stdout
		< H | d:a | d:b | c | C:COPY 2 | Z:I
		> P::copy t to stdout | B:: | E: | S
		< 1 | 2 | H | d:a | c | C:COPY 1 | Z:I
		> X`, `
		#1 q Q! "copy t to stdout"
		#1 -> ok 2/1 I
		#2 x PBES! =2 "copy t to stdout"
		#2 -> ok 1/1 I =2
		#3 e X!
		#3 -> ok 0/0 I`},
	{"COPY both: replication", `
		> Q:START_REPLICATION 0/0
		< W | d:w1
		> d:status
		< d:w2
		> d:status | c
		< c | C:COPY 0 | Z:I
		> X`, `
		#1 q Q! "START_REPLICATION 0/0"
		#2 d ddc!
		#2 -> ok 0/0 I
		#1 -> ok 0/1 I
		#3 e X!
		#3 -> ok 0/0 I`},
	{"the server is ahead of the tap", `
		< C:SELECT 1 | Z:I
		> Q:select 1
		< 1 | 2
		< C:SELECT 1 | Z:T
		> P::select 2 | B:: | E: | S
		> X`, `
		#1 q Q! "select 1"
		#1 -> ok 1/1 I @2-2
		#2 x PBES! =2 "select 2"
		#2 -> ok 1/1 T =2 @5-5
		#3 e X!
		#3 -> ok 0/0 T @6-6`},
	{"an error ahead of the tap", `
		< E:42601 | Z:I
		> Q:bad
		> X`, `
		#1 q Q! "bad"
		#1 -> failed(42601) 0/0 I
		#2 e X!
		#2 -> ok 0/0 I`},
	{"the end of a COPY ahead of the tap", `
		> Q:copy t from stdin
		< G
		< C:COPY 1 | Z:I
		> d:a | c
		> X`, `
		#1 q Q! "copy t from stdin"
		#2 d dc!
		#2 -> ok 0/0 I @4-4
		#1 -> ok 1/1 I @2-3
		#3 e X!
		#3 -> ok 0/0 I @5-5`},
	{"the server ends the session while idle", `
		< E:57P01:FATAL
		> Q:select 1`, `
		#1 q Q! "select 1"
		#1 -> lost(57P01) 0/0 I
		#2 e !
		#2 -> ok(57P01) 0/0 I`},
	{"the server ends the session in a statement", `
		> Q:select pg_sleep(9) | Q:select 2
		< T | E:57P01:FATAL`, `
		#1 q Q! "select pg_sleep(9)"
		#2 q Q! "select 2"
		#1 -> failed(57P01) 0/0 I
		#2 -> lost(57P01) 0/0 I
		#3 e !
		#3 -> ok(57P01) 0/0 I`},
	{"the client goes away in the middle", `
		> P::a | B:: | E: | S | P::b | B:: | E:
		< 1 | 2 | D | D`, `
		#1 x PBES! =1 "a"
		#2 x PBE =2 "b"
		#1 -> lost(client_gone) 2/0 I =1 @2-3
		#2 -> lost(client_gone) 0/0 I =2 @3-3
		#3 e !
		#3 -> ok(client_gone) 0/0 I @3-3`},
	{"rows without a number in the tag are counted", `
		> Q:show all; update t set a=1 returning a; select 1
		< T | D | D | C:SHOW | T | D | C:UPDATE 1 | T | D | D | D | E:22012 | Z:I`, `
		#1 q Q! "show all; update t set a=1 returning a; select 1"
		#1 -> failed(22012) 6/2 I
		#2 e !
		#2 -> ok(client_gone) 0/0 I`},
	{"portals end with their transaction", `
		> P:s:select 1 | B:p:s | E:p:1 | S
		< 1 | 2 | D | s | Z:T
		> E:p:1 | S
		< D | s | Z:I
		> E:p:1 | S
		< E:34000 | Z:I
		> B:p:s | E:p:1 | S | E:p:1 | S
		< 2 | D | s | Z:I | E:34000 | Z:I`, `
		#1 x PBES! =1 "select 1"
		#1 -> ok 1/0 T =1
		#2 h ES! =1
		#2 -> ok 1/0 I =1
		#3 x ES!
		#3 -> failed(34000) 0/0 I
		#4 x BES! =1
		#5 h ES! =1
		#4 -> ok 1/0 I =1
		#5 -> failed(34000) 0/0 I
		#6 e !
		#6 -> ok(client_gone) 0/0 I`},
}

func TestConversations(t *testing.T) {
	for _, c := range conversations {
		t.Run(c.name, func(t *testing.T) {
			check(t, Options{LoggedIn: true, Ordinal: 1}, c.script, c.want, !strings.Contains(c.want, "setting "))
		})
	}
}
