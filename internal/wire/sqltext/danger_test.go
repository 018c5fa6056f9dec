package sqltext

import "testing"

// SE-12: what could harm more than the data.
func TestDanger(t *testing.T) {
	for src, want := range map[string]string{
		"":                                       "",
		"select 1":                               "",
		"drop table t":                           "",
		"truncate t":                             "",
		"delete from t":                          "",
		"copy t from stdin":                      "",
		"copy t to stdout":                       "",
		"copy t from stdin with (delimiter ',')": "",
		"select 'drop database x'":               "",
		"select 1 -- drop database x":            "",
		`select "drop database"`:                 "",
		"select pg_terminate_backend from t":     "",
		"insert into t values ('pg_terminate_backend(1)')":                   "",
		"alter table system add a int":                                       "",
		"create table subscription (a int)":                                  "",
		"do $$ begin perform 1; end $$":                                      "",
		"create function f() returns int as 'select 1'":                      "",
		"select lo_creat(1)":                                                 "",
		"drop database x":                                                    "DROP DATABASE",
		"/* c */ DROP  DATABASE if exists x":                                 "DROP DATABASE",
		"select 1; drop database x":                                          "DROP DATABASE",
		"drop role x":                                                        "DROP ROLE",
		"drop owned by x":                                                    "DROP OWNED",
		"alter system set a = 1":                                             "ALTER SYSTEM",
		"create subscription s connection '' publication p":                  "CREATE SUBSCRIPTION",
		"select pg_terminate_backend(1)":                                     "pg_terminate_backend()",
		"select PG_CATALOG.PG_TERMINATE_BACKEND (pid) from pg_stat_activity": "pg_terminate_backend()",
		`select "pg_reload_conf"()`:                                          "pg_reload_conf()",
		"select pg_ls_dir('/')":                                              "pg_ls_dir()",
		"select * from dblink('x', 'select 1') as t(a int)":                  "dblink()",
		"select lo_export(1, '/x')":                                          "lo_export()",
		"copy t from program 'cat'":                                          "COPY PROGRAM",
		"copy (select 1) to program 'cat'":                                   "COPY PROGRAM",
		"copy t from '/etc/passwd'":                                          "COPY FILE",
		"copy t to E'/x' csv":                                                "COPY FILE",
		"do $$ begin perform pg_terminate_backend(1); end $$":                "pg_terminate_backend()",
		"do $x$ begin execute 'x'; drop database y; end $x$":                 "DROP DATABASE",
		"do 'begin alter system set a = 1; end'":                             "ALTER SYSTEM",
		"create function f() returns void language sql as $$ copy t from program 'x' $$": "COPY PROGRAM",
	} {
		if got := Danger([]byte(src)); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
}

func FuzzDanger(f *testing.F) {
	f.Add("do $a$ begin perform pg_ls_dir('x'); end $a$; copy t to program 'x'")
	f.Add("create function f() as '")
	f.Fuzz(func(t *testing.T, src string) {
		// What comes before takes no danger away.
		if what := Danger([]byte(src)); what != "" && Danger([]byte("select 1;"+src)) == "" {
			t.Errorf("%q: %s, and not after another statement", src, what)
		}
	})
}
