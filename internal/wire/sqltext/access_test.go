package sqltext

import (
	"strings"
	"testing"
)

// RP-16: what may change something is never taken for a reader.
func TestAccessOf(t *testing.T) {
	for want, texts := range map[Access]string{
		Reads: `

select 1
select abalance from pgbench_accounts where aid = $1;
select count(*), max(a) from t where a in (1, 2) and b = any ($1)
(select 1) union (select 2)
values (1)
table t
with x as (select 1) select * from x
with recursive x as (select 1 union all select * from x) select count(*) from x
begin
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY
start transaction
commit; select 1; rollback
end
abort
savepoint a
rollback to a
release a
set search_path = x
set local statement_timeout = 5
reset all
show all
discard all
deallocate all
declare c cursor with hold for select * from t
fetch 10 from c
close c
explain insert into t values (1)
explain (verbose, costs off) delete from t
explain analyze select 1
explain (analyze, buffers) select * from t
prepare a as select 1
prepare a (int) as select $1
copy t to stdout
copy t (a, b) to stdout with (format csv)
copy (select * from t) to stdout
select "update" from t
select 'insert into t' from t
select $$update$$
select a from t -- for update
listen x
select substring(a from 1 for 3) from t
`,
		Calls: `
select f()
select * from f(1)
select s.f(a) from t
select "F"(a) from t
with x(a) as (select 1) select * from x
copy (select f()) to stdout
`,
		Writes: `
insert into t values (1)
update t set a = 1
delete from t
merge into t using s on true when matched then delete
truncate t
with x as (insert into t values (1) returning a) select * from x
with x as (select 1) update t set a = 1
WITH d AS (DELETE FROM t RETURNING *) SELECT count(*) FROM d
select * from t for update
select * from t FOR NO KEY UPDATE
select * from t for share
select * from t for key share skip locked
select * from t for/**/update
select 1 into x
select * into temp x from t
explain analyze delete from t
explain (analyze, verbose) insert into t values (1)
EXPLAIN ANALYZE VERBOSE UPDATE t SET a = 1
explain analyze with x as (insert into t values (1) returning 1) select 1
call p()
do $$ begin end $$
copy t from stdin
copy t from '/tmp/x'
copy t to '/tmp/x'
copy t to program 'cat'
copy (insert into t values (1) returning a) to stdout
select nextval('s')
select pg_catalog.setval('s', 1)
select "nextval"('s')
select lo_import('/etc/passwd')
select pg_advisory_xact_lock(1)
select f(nextval('s'))
create table t (a int)
create index on t (a)
drop table t
alter table t add b int
grant select on t to x
vacuum
analyze t
cluster
reindex table t
refresh materialized view v
comment on table t is 'x'
lock table t
notify x
prepare transaction 'x'
commit prepared 'x'
rollback prepared 'x'
execute a
prepare a as insert into t values (1)
begin; update t set a = 1; commit
select 1; insert into t values (1)
set transaction read write
begin read write
START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE
set default_transaction_read_only = off
set session characteristics as transaction read write
reset default_transaction_read_only
blurb
$1
checkpoint
security label on table t is 'x'
import foreign schema x from server s into y
`,
	} {
		for text := range strings.Lines(texts) {
			text = strings.TrimSpace(text)
			if got := AccessOf([]byte(text)); text != "" && got != want {
				t.Errorf("%q: got %d, want %d", text, got, want)
			}
		}
	}
}

func FuzzAccessOf(f *testing.F) {
	f.Add("with x as (insert into t values (1)) select f(1) -- c\n; explain (analyze) delete from t; copy (select 1) to stdout")
	f.Fuzz(func(t *testing.T, text string) {
		got := AccessOf([]byte(text))
		if got > Writes {
			t.Fatal(got)
		}
		// More statements never make it less.
		if more := AccessOf([]byte(text + "\n;select f()")); more < got {
			t.Errorf("%q: %d, with more %d", text, got, more)
		}
	})
}
