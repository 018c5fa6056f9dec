package pg

// pipelines is about which replies belong to which event.
var pipelines = []conversation{
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
		sets ["set timezone to 'PST8PDT'"] open []
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
