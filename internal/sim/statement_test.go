package sim

import (
	"strings"
	"testing"
)

func TestWhatIsUnderstood(t *testing.T) {
	for sql, want := range map[string]kind{
		"": empty, " ; -- nothing\n": empty,
		"BEGIN": begin, "start transaction isolation level serializable": begin, "commit": commit, "end": commit, "abort": rollback,
		"rollback": rollback, "rollback to savepoint a": rollbackTo, "rollback work to a": rollbackTo, "savepoint a": savepoint, "release a": release,
		"select 1": literal, "select 'it''s', $1::int, -3, null": literal, "select 1 + 1": other, "select E'x'": other,
		"select v from kv where k = 1":                                                       keyed,
		"SELECT a, \"B\" FROM public.kv WHERE k = $1::bigint FOR UPDATE":                     keyed,
		"select v from kv where k = 1 limit 1":                                               keyed,
		"select v from kv where k = 1 and x = 2":                                             other,
		"select v from kv where k > 1":                                                       other,
		"select * from kv where k = 1":                                                       other,
		"select v from kv, x where k = 1":                                                    other,
		"insert into kv (k, v) values ('a', 1)":                                              keyed,
		"insert into kv (k, v) values ($1, $2) on conflict do nothing":                       keyed,
		"insert into kv (k, v) values ($1, $2) on conflict (k) do update set v = excluded.v": keyed,
		"insert into kv (k, v) values ($1, $2) on conflict (k) do update set v = kv.v + 1":   other,
		"insert into kv (k, v) values (1, 2), (3, 4)":                                        other,
		"insert into kv values (1, 2)":                                                       other,
		"insert into kv (k, v) values (1, now())":                                            other,
		"insert into kv (k, v) values (1, 2) returning k":                                    other,
		"update kv set v = v + $1, w = 'x' where k = $2":                                     keyed,
		"update kv set v = v - 1 where k = 5":                                                keyed,
		"update kv set v = w + 1 where k = 5":                                                other,
		"update kv set v = 1":                                                                other,
		"delete from kv where k = 5":                                                         keyed,
		"delete from kv":                                                                     other,
		"copy kv from stdin":                                                                 refused,
		"select datname from pg_database":                                                    asked,
		"select pg_sleep(1)":                                                                 other,
		"show search_path":                                                                   asked,
		"select current_setting('max_connections')":                                          asked,
		"create table kv (k int)":                                                            other,
		"deallocate all":                                                                     deallocate,
	} {
		all := parse(sql)
		if len(all) != 1 || all[0].kind != want {
			t.Errorf("%q: %d statements, kind %d, want %d", sql, len(all), all[0].kind, want)
		}
	}
	if all := parse("begin; update kv set v = 1 where k = ';'; commit;"); len(all) != 3 {
		t.Errorf("%d statements, want 3", len(all))
	}
}

func FuzzParse(f *testing.F) {
	for _, sql := range []string{
		"select v from kv where k = $1", "insert into kv (k, v) values (1, $65535) on conflict do nothing", "update t set a = a + -1 where b = ''",
		"select '", "$0", "select $99999999999", "show", "rollback to", "insert into a(b)values(", "select current_setting(",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for _, st := range parse(sql) {
			s := New(Options{})
			p := s.prepare(st, nil)
			if len(p.types) > strings.Count(sql, "$")*maxParams {
				t.Errorf("%d parameters", len(p.types))
			}
			se := newSession(s, nil, 1)
			se.run(p, make([]value, len(p.types)))
		}
	})
}
