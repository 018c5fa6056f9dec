package pg

import "testing"

var statements = []conversation{
	{"what the sink hears of prepared statements", `
		> P:a:select 1 | P::select 2 | S
		< 1 | 1 | Z:I
		> C:S:a | C:S:a | S
		< 3 | 3 | Z:I
		> Q:select 3
		< C:SELECT 1 | Z:I
		> B:: | E: | S
		< E:26000 | Z:I`, `
		#1 p P "select 1"
		#2 p PS! "select 2"
		prepared "a" #1 P
		#1 -> ok 0/0 I
		prepared "" #2 P
		#2 -> ok 0/0 I
		#3 z CCS!
		deallocated "a"
		#3 -> ok 0/0 I
		#4 q Q! "select 3"
		deallocated ""
		#4 -> ok 1/1 I
		#5 x BES!
		#5 -> failed(26000) 0/0 I
		#6 e !
		#6 -> ok(client_gone) 0/0 I`},
	{"a failed Parse leaves a named statement and drops the unnamed one", `
		> P:a:one | P::two | S
		< 1 | 1 | Z:I
		> P:a:bad | S | P::bad | S
		< E:42601 | Z:I | E:42601 | Z:I
		> B::a | E: | S | B:: | E: | S
		< 2 | C:SELECT 1 | Z:I | E:26000 | Z:I`, `
		#1 p P "one"
		#2 p PS! "two"
		prepared "a" #1 P
		#1 -> ok 0/0 I
		prepared "" #2 P
		#2 -> ok 0/0 I
		#3 p PS! "bad"
		#4 p PS! "bad"
		#3 -> failed(42601) 0/0 I
		deallocated ""
		#4 -> failed(42601) 0/0 I
		#5 x BES! =1
		#6 x BES!
		#5 -> ok 1/1 I =1
		#6 -> failed(26000) 0/0 I
		#7 e !
		#7 -> ok(client_gone) 0/0 I`},
	{"PG-09: SQL PREPARE, DEALLOCATE and DISCARD beside protocol Parse", `
		> Q:PREPARE A (int) as select $1; prepare "B""c" as select 2
		< C:PREPARE | C:PREPARE | Z:I
		> B::a:1 | E: | S
		< 2 | C:SELECT 1 | Z:I
		> B::B"c | E: | S
		< 2 | C:SELECT 1 | Z:I
		> P:p:select 3 | S
		< 1 | Z:I
		> Q:deallocate prepare a; deallocate P; begin
		< C:DEALLOCATE | C:DEALLOCATE | C:BEGIN | Z:T
		> B::p | E: | S
		< E:26000 | Z:E
		> B::B"c | E: | S
		< E:25P02 | Z:E
		> Q:DISCARD ALL
		< C:DISCARD ALL | Z:I
		> B::B"c | E: | S
		< E:26000 | Z:I`, `
		#1 q Q! "PREPARE A (int) as select $1; prepare \"B\"\"c\" as select 2"
		prepared "a" #1 Q
		prepared "B\"c" #1 Q
		#1 -> ok 0/2 I
		#2 x BES! =1
		#2 -> ok 1/1 I =1
		#3 x BES! =1
		#3 -> ok 1/1 I =1
		#4 p PS! "select 3"
		prepared "p" #4 P
		#4 -> ok 0/0 I
		#5 q Q! "deallocate prepare a; deallocate P; begin"
		deallocated "a"
		deallocated "p"
		#5 -> ok 0/3 T
		#6 x BES!
		#6 -> failed(26000) 0/0 E
		#7 x BES! =1
		#7 -> failed(25P02) 0/0 E =1
		#8 q Q! "DISCARD ALL"
		deallocated all
		#8 -> ok 0/1 I
		#9 x BES!
		#9 -> failed(26000) 0/0 I
		#10 e !
		#10 -> ok(client_gone) 0/0 I`},
	{"DEALLOCATE that fails, DEALLOCATE ALL, and one by the extended protocol", `
		> P:p:select 3 | P:q:deallocate p | P:r:deallocate all | S
		< 1 | 1 | 1 | Z:I
		> Q:deallocate nosuch
		< E:26000 | Z:I
		> B::q | E: | B::p | E: | S
		< 2 | C:DEALLOCATE | E:26000 | Z:I
		> B::r | E: | S
		< 2 | C:DEALLOCATE ALL | Z:I
		> B::q | E: | S
		< E:26000 | Z:I`, `
		#1 p P "select 3"
		#2 p P "deallocate p"
		#3 p PS! "deallocate all"
		prepared "p" #1 P
		#1 -> ok 0/0 I
		prepared "q" #2 P
		#2 -> ok 0/0 I
		prepared "r" #3 P
		#3 -> ok 0/0 I
		#4 q Q! "deallocate nosuch"
		#4 -> failed(26000) 0/0 I
		#5 x BE =2
		#6 x BES! =1
		deallocated "p"
		#5 -> ok 0/1 I =2
		#6 -> failed(26000) 0/0 I
		#7 x BES! =3
		deallocated all
		#7 -> ok 0/1 I =3
		#8 x BES!
		#8 -> failed(26000) 0/0 I
		#9 e !
		#9 -> ok(client_gone) 0/0 I`},
	{"a DEALLOCATE ALL in a pipeline does not drop what was prepared after it", `
		> P:p:one | S | Q:deallocate all | P:p:two | S | B::p | E: | S
		< 1 | Z:I | C:DEALLOCATE ALL | Z:I | 1 | Z:I | 2 | C:SELECT 1 | Z:I
		> B::p | E: | S`, `
		#1 p PS! "one"
		#2 q Q! "deallocate all"
		#3 p PS! "two"
		#4 x BES! =3
		prepared "p" #1 P
		#1 -> ok 0/0 I
		deallocated all
		#2 -> ok 0/1 I
		prepared "p" #3 P
		#3 -> ok 0/0 I
		#4 -> ok 1/1 I =3
		#5 x BES! =3
		#5 -> lost(client_gone) 0/0 I =3
		#6 e !
		#6 -> ok(client_gone) 0/0 I`},
	{"names longer than the server's are cut", `
		> P:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaXX:one | S
		< 1 | Z:I
		> B::aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaYY | E: | S
		< 2 | C:SELECT 1 | Z:I`, `
		#1 p PS! "one"
		prepared "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" #1 P
		#1 -> ok 0/0 I
		#2 x BES! =1
		#2 -> ok 1/1 I =1
		#3 e !
		#3 -> ok(client_gone) 0/0 I`},
}

func TestStatements(t *testing.T) {
	for _, c := range statements {
		t.Run(c.name, func(t *testing.T) {
			check(t, Options{LoggedIn: true, Ordinal: 1}, c.script, c.want, false)
		})
	}
}
