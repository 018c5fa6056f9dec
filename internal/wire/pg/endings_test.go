package pg

// endings is about sessions that end badly, and replies that are seen too early.
var endings = []conversation{
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
}
