package pg

// copies is about COPY of all kinds.
var copies = []conversation{
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
}
