package pg

// partition is about which messages make an event.
var partition = []conversation{
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
}
