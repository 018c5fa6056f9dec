package sqltext

import "testing"

// secret judges a text as a recorder does.
func secret(src string) bool {
	var l Literals
	l.Reset([]byte(src))
	var values []string
	for t, ok := l.Next(); ok; t, ok = l.Next() {
		values = append(values, src[t.Start:t.End])
	}
	s := l.Secrecy()
	if s&Secret != 0 {
		return true
	}
	for _, v := range values {
		if s.Reveals([]byte(v)) {
			return true
		}
	}
	return false
}

var secrets = []string{
	"ALTER USER joe PASSWORD 'x'",
	"alter/**/user joe with encrypted password 'x'",
	"/* c */ -- d\n Alter\tRole joe Password E'x'",
	"create user joe",
	"CREATE ROLE joe LOGIN PASSWORD 'x' VALID UNTIL '2030-01-01'",
	"create group g with password 'x'",
	"select 1; alter user joe password 'x'; select 2",
	"begin;create user mapping for joe server s options (user 'u', password 'p')",
	"alter user mapping for public server s options (set password 'p')",
	"create server s foreign data wrapper w options (host 'h', password 'p')",
	"CREATE SUBSCRIPTION s CONNECTION 'host=h password=p' PUBLICATION p",
	"alter subscription s connection 'host=h password=p'",
	"alter system set primary_conninfo = 'host=h password=p'",
	"atler user joe password 'x'", // a slip is no reason to store it
	"alter usr joe password 'x'",
	"user joe identified by 'x'",
	"select dblink_connect('host=h password=p')",
	"select dblink_connect_u('c', 'host=h')",
	"select * from dblink('postgres://u:p@h/d', 'select 1') as t(a int)",
	"select * from dblink('host=h password=p', 'select 1') as t(a int)",
	"do $$ begin execute 'alter user joe password ''x'''; end $$",
	"DO 'begin alter role joe PASSWORD ''x''; end'",
	"create or replace function f() returns void as $$ create user joe password 'x' $$ language sql",
	"create function f() returns void as $$ select format('%I password %L', $1, $2) $$ language sql",
	"create procedure p() as $$ select dblink_connect('x') $$ language sql",
	"set vault.secret_id = 'x'",
	"set app.api_token to 'x'",
	"SET password_hash = x",
	"alter database d set app.apikey = 'x'",
	"select set_config('request.access_token', 'x', true)",
	"copy t from program 'curl -u joe:x http://h'",
	"create foreign table t (a int) server s options (password 'x')",
	"password 'x'",
	// pgcrypto: keys and passwords among the arguments
	"select pgp_sym_encrypt('data', 'key')",
	"select * from t where PGP_SYM_DECRYPT /* c */ (a, 'key') = 'x'",
	"select pgp_pub_decrypt(a, dearmor('key'), 'x')",
	"insert into t values (crypt('x', gen_salt('bf')))",
	"select public.hmac('data', 'key', 'sha256')",
	"select encrypt_iv('data', 'key', 'iv', 'aes')",
	`select "decrypt"('data', 'key', 'aes')`,
	// in other spellings
	`select "dblink_connect"('host=h')`,
	`set "vault.secret" = 'x'`,
	`alter database d set "app.token" to 'x'`,
	"alter role joe password U&'\\0078'",
	"alter role joe password $$x$$",
	"alter role \"password\" encrypted password 'x'",
	"select 1; ;/* c */copy t from/**/program 'curl -u joe:x http://h'",
	"explain select pgp_sym_encrypt('data', 'key')",
}

var open = []string{
	"select password from users where login = 'x'",
	"insert into users (login, password, token) values ('a', 'b', 'c')",
	"update users set password = 'x' where user = 'y'",
	"create table users (login text, password text default 'x', role text)",
	"create index i on users (password)",
	"alter table users add column password text",
	"create or replace view v as select password, 'token' from users",
	"create function check_password(p text) returns bool as $$ select password = p from users $$ language sql",
	"do $$ begin update users set password = md5(password); end $$",
	"select 'alter user joe password x'",
	"set search_path to a, b",
	"set session authorization 'joe'",
	"set role joe",
	"select set_config('search_path', 'a', true)",
	"select * from dblink('conn', 'select 1') as t(a int)",
	"copy users (password) from stdin",
	"drop user joe",
	"grant select on users to joe",
	"with a as (select password from users) select * from a where password = 'x'",
	"select usr.password, \"user\" from usr",
	"prepare p as select password from users where a = 1",
	"select crypt, hmac from t where (encrypt = 'x')",
	"select a as crypt, (1)",
	`select "crypt", 'x'`,
	"",
}

func TestSecrets(t *testing.T) {
	for _, src := range secrets {
		if !secret(src) {
			t.Errorf("not found: %s", src)
		}
	}
	for _, src := range open {
		if secret(src) {
			t.Errorf("no secret: %s", src)
		}
	}
}

// Where a statement is secret its password is a value even if it is no literal.
func TestSecretsAreValues(t *testing.T) {
	for src, want := range map[string]string{
		`alter user joe password hunter2`:             `alter user joe password ‹hunter2›`,
		`alter user "joe" password "hunter2" login`:   `alter user "joe" password ‹"hunter2"› login`,
		`alter user joe password null`:                `alter user joe password null`,
		`atler user joe with password hunter2 x 5; s`: `atler user joe with password ‹hunter2› ‹x› ‹5›; s`,
		`set app.token = abc, def; set x = abc`:       `set app.token = ‹abc›, ‹def›; set x = abc`,
		`set app.token to abc`:                        `set app.token to ‹abc›`,
		`create subscription s connection "h p"`:      `create subscription s connection ‹"h p"›`,
		`alter user joe password 'x' valid until 'y'`: `alter user joe password ‹'x'› valid until ‹'y'›`,
	} {
		if got := mark(src); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}
