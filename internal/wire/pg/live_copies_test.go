package pg

// liveCopies are about COPY.
var liveCopies = []liveCase{
	{"COPY, simple", "create table ct (a int)", `
		>g Q:copy ct from stdin
		>. d:1\n
		> d:2\n | c
		> Q:copy ct from stdin | d:3\n | c | Q:select count(*) from ct
		>g Q:copy ct from stdin
		>~ d:x\n
		>. d:1\n | c
		> Q:select 1
		>g Q:copy ct from stdin
		> f:enough
		> Q:copy nosuch from stdin | d:1\n | c
		> Q:copy ct to stdout
		>g Q:copy ct from stdin; copy ct from stdin
		>. d:4\n | c
		> d:5\n | c
		>g Q:copy ct from stdin
		>. d:6\n | S | H | d:7\n
		> c
		> S`, `
		#1 q Q! "copy ct from stdin"
		#2 d ddc!
		#2 -> ok 0/0 I
		#1 -> ok 2/1 I
		#3 q Q! "copy ct from stdin"
		#4 d dc!
		#4 -> ok 0/0 I
		#5 q Q! "select count(*) from ct"
		#3 -> ok 1/1 I
		#5 -> ok 1/1 I
		#6 q Q! "copy ct from stdin"
		#7 d d!
		#7 -> ok 0/0 I
		#6 -> failed(22P02) 0/0 I
		#8 d dc!
		#8 -> ok 0/0 I
		#9 q Q! "select 1"
		#9 -> ok 1/1 I
		#10 q Q! "copy ct from stdin"
		#11 d f!
		#11 -> ok 0/0 I
		#10 -> failed(57014) 0/0 I
		#12 q Q! "copy nosuch from stdin"
		#13 d dc!
		#13 -> ok 0/0 I
		#12 -> failed(42P01) 0/0 I
		#14 q Q! "copy ct to stdout"
		#14 -> ok 3/1 I
		#15 q Q! "copy ct from stdin; copy ct from stdin"
		#16 d dc!
		#16 -> ok 0/0 I
		#17 d dc!
		#17 -> ok 0/0 I
		#15 -> ok 2/2 I
		#18 q Q! "copy ct from stdin"
		#19 d d!
		#19 -> ok 0/0 I
		#20 s S!
		#20 -> ok 0/0 I
		#21 s H!
		#21 -> ok 0/0 I
		#22 d dc!
		#22 -> ok 0/0 I
		#18 -> ok 2/1 I
		#23 s S!
		#23 -> ok 0/0 I`},
	{"COPY, extended, with the Sync that is ignored", "create table ct (a int primary key deferrable initially deferred)", `
		>g P::copy ct from stdin | B:: | D:P: | E: | S
		>. d:1\n
		> d:2\n | c | S
		> Q:select count(*) from ct
		> P::copy ct from stdin | B:: | E: | S | d:3\n | c | S | Q:select count(*) from ct
		>g P::copy ct from stdin | B:: | E: | H
		>. d:4\n | c
		> S
		>g P::copy ct from stdin | B:: | E: | S
		> d:x\n | c | S
		> Q:select count(*) from ct
		>g P::copy ct from stdin | B:: | E: | S
		> f:enough | S
		> P::copy nosuch from stdin | B:: | E: | S
		> P::copy ct to stdout | B:: | E: | S
		>g P::copy ct from stdin | B:: | E: | S
		> d:1\n | c | S
		> Q:select count(*) from ct`, `
		#1 x PBDES! =1 "copy ct from stdin"
		#2 d ddcS!
		#1 -> ok 2/1 I =1
		#2 -> ok 0/0 I
		#3 q Q! "select count(*) from ct"
		#3 -> ok 1/1 I
		#4 x PBES! =4 "copy ct from stdin"
		#5 d dcS!
		#6 q Q! "select count(*) from ct"
		#4 -> ok 1/1 I =4
		#5 -> ok 0/0 I
		#6 -> ok 1/1 I
		#7 x PBEH! =7 "copy ct from stdin"
		#8 d dcS!
		#7 -> ok 1/1 I =7
		#8 -> ok 0/0 I
		#9 x PBES! =9 "copy ct from stdin"
		#10 d dcS!
		#9 -> failed(22P02) 0/0 I =9
		#10 -> ok 0/0 I
		#11 q Q! "select count(*) from ct"
		#11 -> ok 1/1 I
		#12 x PBES! =12 "copy ct from stdin"
		#13 d fS!
		#12 -> failed(57014) 0/0 I =12
		#13 -> ok 0/0 I
		#14 x PBES! =14 "copy nosuch from stdin"
		#14 -> failed(42P01) 0/0 I =14
		#15 x PBES! =15 "copy ct to stdout"
		#15 -> ok 4/1 I =15
		#16 x PBES! =16 "copy ct from stdin"
		#17 d dcS!
		#16 -> failed(23505) 1/1 I =16
		#17 -> ok 0/0 I
		#18 q Q! "select count(*) from ct"
		#18 -> ok 1/1 I`},
	{"COPY, extended, refused by a trigger: the Sync was read after all", `
		create table ct (a int);
		create function no() returns trigger language plpgsql as 'begin raise exception ''no''; end';
		create trigger no before insert on ct for each statement execute function no()`, `
		> P::copy ct from stdin | B:: | E: | S
		> Q:select 1
		> P::copy ct from stdin | B:: | E: | S | d:1\n | c | S
		> P::select 1 | B:: | E: | S`, `
		#1 x PBES! =1 "copy ct from stdin"
		#1 -> failed(P0001) 0/0 I =1
		#2 q Q! "select 1"
		#2 -> ok 1/1 I
		#3 x PBES! =3 "copy ct from stdin"
		#4 d dcS!
		#3 -> failed(P0001) 0/0 I =3
		#4 -> ok 0/0 I
		#5 x PBES! =5 "select 1"
		#5 -> ok 1/1 I =5`},
}
