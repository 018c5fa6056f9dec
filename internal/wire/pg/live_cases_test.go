package pg

// liveCase is a script for a real server: the client's lines alone, and what
// must be heard of what the server says to them.
type liveCase struct{ name, before, script, want string }

// liveCases are the scripts that the cases of bug reports were checked with.
var liveCases = []liveCase{
	{"partition", "", `
		> Q:select 1
		> P:a:select 1 | D:S:a | P:b:select 2 | D:S:b | S
		> B::a | E: | B::b | E: | S
		> P::select 3 | B:: | D:P: | E: | S
		> P::select 1 | B:: | E: | H
		> S
		> C:S:a | C:S:b | S
		> H
		> D:S:nosuch | S`, `
		#1 q Q! "select 1"
		#1 -> ok 1/1 I
		#2 p PD "select 1"
		#3 p PDS! "select 2"
		#2 -> ok 0/0 I
		#3 -> ok 0/0 I
		#4 x BE =2
		#5 x BES! =3
		#4 -> ok 1/1 I =2
		#5 -> ok 1/1 I =3
		#6 x PBDES! =6 "select 3"
		#6 -> ok 1/1 I =6
		#7 x PBEH! =7 "select 1"
		#7 -> ok 1/1 I =7
		#8 s S!
		#8 -> ok 0/0 I
		#9 z CCS!
		#9 -> ok 0/0 I
		#10 s H!
		#10 -> ok 0/0 I
		#11 s DS!
		#11 -> failed(26000) 0/0 I`},
	{"PG-02 pipeline with an error", "create table ct (a int)", `
		> P::insert into ct values(90) | B:: | E: | P::select 1/0 | B:: | E: | P::insert into ct values(91) | B:: | E: | S
		> Q:select * from ct
		> P::selec | Q:select 1 | P:x:select 1 | S
		> Q:select 2`, `
		#1 x PBE =1 "insert into ct values(90)"
		#2 x PBE =2 "select 1/0"
		#3 x PBES! =3 "insert into ct values(91)"
		#1 -> ok 1/1 I =1
		#2 -> failed(22012) 0/0 I =2
		#3 -> skipped(aborted) 0/0 I =3
		#4 q Q! "select * from ct"
		#4 -> ok 0/1 I
		#5 p P "selec"
		#6 q Q! "select 1"
		#7 p PS! "select 1"
		#5 -> failed(42601) 0/0 I
		#6 -> skipped(aborted) 0/0 I
		#7 -> skipped(aborted) 0/0 I
		#8 q Q! "select 2"
		#8 -> ok 1/1 I`},
	{"PG-06 unnamed statements", "", `
		> P::select 11 | B:: | E: | P::select 22 | B:: | E: | S
		> P::selec | S
		> B:: | E: | S
		> P::select 3 | S
		> Q:select 4
		> B:: | E: | S`, `
		#1 x PBE =1 "select 11"
		#2 x PBES! =2 "select 22"
		#1 -> ok 1/1 I =1
		#2 -> ok 1/1 I =2
		#3 p PS! "selec"
		#3 -> failed(42601) 0/0 I
		#4 x BES!
		#4 -> failed(26000) 0/0 I
		#5 p PS! "select 3"
		#5 -> ok 0/0 I
		#6 q Q! "select 4"
		#6 -> ok 1/1 I
		#7 x BES!
		#7 -> failed(26000) 0/0 I`},
	{"PG-08 and PG-09", "", `
		> C:S:none | S
		> P:x:bad | C:S:x | S
		> P:s2:select 1 | C:S:s2 | P:s2:select 2, 3 | B::s2 | E: | S
		> P:s1:select 1 | P:s1:select 2 | S
		> B::s1 | E: | S
		> Q:prepare a as select 1; discard all
		> Q:prepare a as select 1
		> Q:discard all
		> B::a | E: | S
		> Q:prepare a as select 2, 2
		> B::a | E: | S
		> Q:execute a
		> P:z:deallocate all | S
		> B::z | E: | S
		> B::a | E: | S
		> P:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaXX:select 1 | S
		> B::aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaYY | E: | S`, `
		#1 z CS!
		#1 -> ok 0/0 I
		#2 p P "bad"
		#3 z CS!
		#2 -> failed(42601) 0/0 I
		#3 -> skipped(aborted) 0/0 I
		#4 p P "select 1"
		#5 z C
		#6 x PBES! =6 "select 2, 3"
		#4 -> ok 0/0 I
		#5 -> ok 0/0 I
		#6 -> ok 1/1 I =6
		#7 p P "select 1"
		#8 p PS! "select 2"
		#7 -> ok 0/0 I
		#8 -> failed(42P05) 0/0 I
		#9 x BES! =7
		#9 -> ok 1/1 I =7
		#10 q Q! "prepare a as select 1; discard all"
		#10 -> failed(25001) 0/1 I
		#11 q Q! "prepare a as select 1"
		#11 -> failed(42P05) 0/0 I
		#12 q Q! "discard all"
		#12 -> ok 0/1 I
		#13 x BES!
		#13 -> failed(26000) 0/0 I
		#14 q Q! "prepare a as select 2, 2"
		#14 -> ok 0/1 I
		#15 x BES! =14
		#15 -> ok 1/1 I =14
		#16 q Q! "execute a"
		#16 -> ok 1/1 I
		#17 p PS! "deallocate all"
		#17 -> ok 0/0 I
		#18 x BES! =17
		#18 -> ok 0/1 I =17
		#19 x BES!
		#19 -> failed(26000) 0/0 I
		#20 p PS! "select 1"
		#20 -> ok 0/0 I
		#21 x BES! =20
		#21 -> ok 1/1 I =20`},
	{"PG-11 and PG-12", "create table ct (a int)", `
		> Q:
		> Q:;;
		> Q:-- c
		> Q:select 1; ; select 2
		> Q: ;; ; begin; end
		> P::-- test | B:: | E: | S
		> Q:insert into ct values(77); select 1/0; insert into ct values(78)
		> Q:select * from ct`, `
		#1 q Q!
		#1 -> ok 0/1 I
		#2 q Q! ";;"
		#2 -> ok 0/1 I
		#3 q Q! "-- c"
		#3 -> ok 0/1 I
		#4 q Q! "select 1; ; select 2"
		#4 -> ok 2/2 I
		#5 q Q! " ;; ; begin; end"
		#5 -> ok 0/2 I
		#6 x PBES! =6 "-- test"
		#6 -> ok 0/1 I =6
		#7 q Q! "insert into ct values(77); select 1/0; insert into ct values"
		#7 -> failed(22012) 1/1 I
		#8 q Q! "select * from ct"
		#8 -> ok 0/1 I`},
	{"PG-22 queries in one write", "", `
		> Q:select 1 | Q:select 1/0 | Q:select 3
		> Q:set application_name to 'a' | P::select 2 | D:S: | B:: | E: | S`, `
		#1 q Q! "select 1"
		#2 q Q! "select 1/0"
		#3 q Q! "select 3"
		#1 -> ok 1/1 I
		#2 -> failed(22012) 0/0 I
		#3 -> ok 1/1 I
		#4 q Q! "set application_name to 'a'"
		#5 x PDBES! =5 "select 2"
		#4 -> ok 0/1 I
		#5 -> ok 1/1 I =5`},
	{"transactions, portals, fetches", "create table ct (a int primary key deferrable initially deferred)", `
		> Q:begin
		> P:s:select generate_series(1,5) | B:p:s | E:p:2 | S
		> E:p:2 | S
		> E:p:2 | S
		> E:p:2 | E:p:2 | S
		> B:p:s | S
		> Q:commit
		> B:p:s | S
		> E:p:2 | S
		> B:p:s | E:p:2 | S
		> Q:insert into ct values (1)
		> P:i:insert into ct values (1) | B::i | E: | S
		> P:j:commit | S
		> Q:begin; insert into ct values (1)
		> B::j | E: | S
		> Q:begin
		> B::i | E: | S
		> Q:selec
		> B::j | E: | S
		> Q:begin; select 1/0
		> Q:end
		> Q:rollback`, `
		#1 q Q! "begin"
		#1 -> ok 0/1 T
		#2 x PBES! =2 "select generate_series(1,5)"
		#2 -> ok 2/0 T =2
		#3 h ES! =2
		#3 -> ok 2/0 T =2
		#4 h ES! =2
		#4 -> ok 1/1 T =2
		#5 h E =2
		#6 h ES! =2
		#5 -> ok 0/1 T =2
		#6 -> ok 0/1 T =2
		#7 s BS!
		#7 -> failed(42P03) 0/0 E
		#8 q Q! "commit"
		#8 -> failed(rolled_back) 0/1 I
		#9 s BS!
		#9 -> ok 0/0 I
		#10 x ES!
		#10 -> failed(34000) 0/0 I
		#11 x BES! =2
		#11 -> ok 2/0 I =2
		#12 q Q! "insert into ct values (1)"
		#12 -> ok 1/1 I
		#13 x PBES! =13 "insert into ct values (1)"
		#13 -> failed(23505) 1/1 I =13
		#14 p PS! "commit"
		#14 -> ok 0/0 I
		#15 q Q! "begin; insert into ct values (1)"
		#15 -> ok 1/2 T
		#16 x BES! =14
		#16 -> failed(23505) 0/0 I =14
		#17 q Q! "begin"
		#17 -> ok 0/1 T
		#18 x BES! =13
		#18 -> ok 1/1 T =13
		#19 q Q! "selec"
		#19 -> failed(42601) 0/0 E
		#20 x BES! =14
		#20 -> failed(rolled_back) 0/1 I =14
		#21 q Q! "begin; select 1/0"
		#21 -> failed(22012) 0/1 E
		#22 q Q! "end"
		#22 -> failed(rolled_back) 0/1 I
		#23 q Q! "rollback"
		#23 -> ok 0/1 I`},
	{"PG-23 bytes that are not UTF-8", "", `
		> Q:set client_encoding to latin1
		> Q:select '` + "\xe9" + `'
		> Q:set client_encoding to utf8
		> Q:select '` + "\xff\xfe" + `'
		> Q:select 'a` + "\x00" + `b'`, `
		#1 q Q! "set client_encoding to latin1"
		#1 -> ok 0/1 I
		#2 q Q! "select '\xe9'"
		#2 -> ok 1/1 I
		#3 q Q! "set client_encoding to utf8"
		#3 -> ok 0/1 I
		#4 q Q! "select '\xff\xfe'"
		#4 -> failed(22021) 0/0 I
		#5 q Q! "select 'a"
		#5 -> failed(08P01) 0/0 I`},
	{"PG-24 function calls", "", `
		> F
		> Q:select 1`, `
		#1 f F!
		#1 -> failed(08P01) 0/0 I
		#2 q Q! "select 1"
		#2 -> ok 1/1 I`},
	{"PG-15 notices before a result, settings after it", "", `
		> Q:do $$ begin for i in 1..1000 loop raise notice 'n %', i; end loop; end $$
		> Q:listen ch
		>~ Q:notify ch, 'hi'
		> Q:set timezone to 'PST8PDT'
		> P::set timezone to 'UTC' | B:: | E: | S`, `
		#1 q Q! "do $$ begin for i in 1..1000 loop raise notice 'n %', i; end"
		#1 -> ok 0/1 I
		#2 q Q! "listen ch"
		#2 -> ok 0/1 I
		#3 q Q! "notify ch, 'hi'"
		#3 -> ok 0/1 I
		#4 q Q! "set timezone to 'PST8PDT'"
		#4 -> ok 0/1 I
		#5 x PBES! =5 "set timezone to 'UTC'"
		#5 -> ok 0/1 I =5`},
	{"the server ends the session", "", `
		>~ Q:select pg_terminate_backend(pg_backend_pid())`, `
		#1 q Q! "select pg_terminate_backend(pg_backend_pid())"
		#1 -> failed(57P01) 1/0 I`},
}
