-- What people do in psql, with every kind of message psql can cause.
\set VERBOSITY verbose
\pset null '∅'
create table people (id serial primary key, name text not null, born date, notes jsonb, photo bytea);
\d people
insert into people (name, born, notes, photo) values
  ('Ada', '1815-12-10', '{"field": "mathematics"}', '\x00ff10'),
  ('Grace; "the" ''Admiral''', '1906-12-09', null, null),
  ('Κλεοπάτρα', null, '{"languages": 9}', decode(repeat('ab', 3000), 'hex'))
  returning id, name;
table people;
select 1 as one \; select 2 as two \; select 'three' as three;
select 1/0;
select * from nowhere;
insert into people (name) values (null);
select $tag$ dollars $1 ' " $tag$ as quoted, E'\\n\u00e9' as escaped, U&'\0041' as unicode, -1.5e-3 as number;
begin;
savepoint a;
insert into people (id, name) values (1, 'again');
rollback to a;
update people set notes = notes || '{"seen": true}' where notes is not null;
commit;
begin;
select 1/0;
select 'ignored';
commit;
\copy people (name, born) from stdin
Emmy	1882-03-23
Sofja	1850-01-15
\.
\copy (select id, name from people order by id) to stdout with csv header
copy people (name) from stdin;
broken	row	with	too	many	columns
\.
copy (select g, repeat('x', 200) from generate_series(1, 2000) g) to stdout;
do $$ begin raise notice 'a notice %', 42; raise warning 'a warning'; end $$;
prepare p (int, text) as select $1 + 1, upper($2);
execute p (41, 'mixed');
execute p (41, 'again');
deallocate p;
execute p (1, 'gone');
\set FETCH_COUNT 7
select g, g * g from generate_series(1, 30) g;
\unset FETCH_COUNT
listen news;
notify news, 'to myself';
select 'after the notification';
declare c cursor for select 1;
begin; declare c cursor for select g from generate_series(1, 10) g; fetch 3 from c; move 2 in c; fetch all from c; close c; commit;
set application_name = 'renamed'; show application_name;
set client_encoding = 'LATIN1'; select 'é' as latin; reset client_encoding;
set standard_conforming_strings = off; select 'a\tb'; reset standard_conforming_strings;
select lo_create(4242); select lo_unlink(4242);
\gdesc
select id, name from people where id < 3 order by id \gdesc
select count(*) from people \gset
\echo :count
select g % 3 as a, g % 2 as b, count(*) from generate_series(1, 30) g group by 1, 2 order by 1, 2 \crosstabview
;
explain (costs off) select * from people where id = 1;
select string_agg(md5(g::text), '') from generate_series(1, 50000) g;
create function f(int) returns setof int language sql as 'select generate_series(1, $1)'; select * from f(3);
\df f
\l+ nosuch
set statement_timeout = '50ms'; select pg_sleep(5); reset statement_timeout;
select pg_terminate_backend(pg_backend_pid());
