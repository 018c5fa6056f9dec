package fingerprint

import (
	"slices"
	"strings"
	"testing"
)

// What stands in a FROM, INTO … by PostgreSQL's grammar, not by this program.
func TestTables(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"", ""},
		{"select 1", ""},
		{"SELECT a FROM Orders o WHERE o.id = 0", "orders"},
		{`select * from "Order Items", public."x""y" y`, `Order Items public.x"y`},
		{"select * from a, b c, d as e where f = g, h", "a b d"},
		{"select * from a join b using (x) left join s.c on b.x = c.x, d", "a b s.c d"},
		{"select * from (a cross join b) x, only c", "a b c"},
		{"select x from (select y from inner1) s, lateral (select 0) t, z", "inner1 z"},
		{"select * from generate_series(0, 0) g, t", "t"},
		{"select extract(epoch from ts), trim(both from name) from t", "t"},
		{"select a is not distinct from b, a is distinct from c from t", "t"},
		{"select distinct from t", "t"},
		{"select a from t where b in (select c from u) order by d, e", "t u"},
		{"select a from t for update of t skip locked", "t"},
		{"select * into temp copy1 from t", "copy1 t"},
		{"with r as (select * from t), s(a, b) as (select 0) select * from r, s, u", "t u"},
		{"with recursive r as (select 0 union all select n from r) select * from r", ""},
		{"with x as (insert into log(a) values (0) returning *) update t set a = 0 from x, y", "log t y"},
		{"insert into t (a, b) select c, d from u on conflict (a) do update set b = 0", "t u"},
		{"insert into s.t values (0, ''), (0, '')", "s.t"},
		{"update only t set a = 0 where b = 0", "t"},
		{"delete from t using u, v where t.a = u.a", "t u v"},
		{"merge into t using s on t.a = s.a when matched then update set b = 0 when not matched then insert values (0)", "t s"},
		{"copy t (a, b) from stdin", "t"},
		{"copy (select * from t) to stdout", "t"},
		{"truncate a, b cascade", "a b"},
		{"truncate table only a", "a"},
		{"lock table a in access exclusive mode", "a"},
		{"create table if not exists t (id int references u(id) on delete cascade)", "t u"},
		{"create unlogged table t as select * from u", "t u"},
		{"create index concurrently i on t using btree (a)", "t"},
		{"create trigger g before update on t for each row execute function f()", "t"},
		{"create view v as select * from t", "v t"},
		{"alter table if exists only t add column a int", "t"},
		{"drop table if exists a, b", "a b"},
		{"grant select, insert on a, b to c", "a b"},
		{"revoke all on table a from b", "a"},
		{"vacuum (full) t", "t"},
		{"analyze a, b", "a b"},
		{"explain analyze update t set a = 0", "t"},
		{"explain (analyze, buffers) select * from t", "t"},
		{"prepare p as delete from t", "t"},
		{"begin; insert into a values (0); with b as (select 0) select 0 from b; select 0 from b; commit", "a b"},
		{"refresh materialized view concurrently m", "m"},
		{"select $1 from /* not this: from x */ t -- from y", "t"},
		{"select 'from x' from t", "t"},
		{"select * from t where a = any(array(select b from u))", "t u"},
		{"select * from t, t as other", "t"},
		{"select a from", ""},
		{"fetch 10 from c", "c"},
	} {
		if got := strings.Join(Tables(c.sql), " "); got != c.want {
			t.Errorf("Tables(%q)\n got %q\nwant %q", c.sql, got, c.want)
		}
	}
}

func TestVerbs(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"", ""},
		{"-- nothing", ""},
		{"SELECT 1", "select"},
		{"((select 1) union (select 2))", "select"},
		{"Begin; insert into t values (';'); ;COMMIT;", "begin insert commit"},
		{"/* x */ with a as (select 0) delete from a", "with"},
		{"? = call f()", ""},
	} {
		if got := strings.Join(Verbs(c.sql), " "); got != c.want {
			t.Errorf("Verbs(%q) = %q, want %q", c.sql, got, c.want)
		}
	}
}

func FuzzTables(f *testing.F) {
	f.Add("with a as (select 0 from b) select * from a, (c join d using (x)), \"e\".f where g = 0; copy t from stdin")
	f.Fuzz(func(t *testing.T, sql string) {
		tables := Tables(sql)
		for _, name := range tables {
			if name == "" && !strings.Contains(sql, `"`) {
				t.Errorf("%q names a table without a name", sql)
			}
		}
		if upper := Tables(strings.ToUpper(sql)); strings.IndexByte(sql, '"') < 0 && isASCII(sql) && !slices.Equal(lowered(tables), lowered(upper)) {
			t.Errorf("%q: %q, and in capitals %q", sql, tables, upper)
		}
		Verbs(sql)
	})
}

func lowered(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, strings.ToLower(n))
	}
	return out
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 || r == '$' }) < 0
}
