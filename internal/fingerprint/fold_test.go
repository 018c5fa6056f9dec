package fingerprint

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestFoldText(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"", ""},
		{" ; -- nothing", ""},
		{"SELECT abalance FROM pgbench_accounts WHERE aid = 42;", "select abalance from pgbench_accounts where aid = ?"},
		{"select  a,b\n\tfrom t -- x\n where /* y */ a=$1", "select a, b from t where a = ?"},
		{"BEGIN; UPDATE t SET a=1; COMMIT;", "begin; update t set a = ?; commit"},
		{"insert into t(a,b) values (1,'x'),(2,NULL)", "insert into t(a, b) values (?, ?)"},
		{"select count ( * ) from s . t", "select count(*) from s.t"},
		{"select a[1], b[1:2], x::numeric(10,2)", "select a[?], b[?:?], x::numeric(?, ?)"},
		{"select * from t where d > date '2020-01-01' and x ~* 'a'", "select * from t where d > date ? and x ~* ?"},
		{"select j->'a'->>'b', j ? 'k', j ?| array['a','b']", "select j -> ? ->> ?, j ? ?, j ?| array[...]"},
		{"select $$ a 'b' $$, $q$ $$ $q$, E'it\\'s', U&'\\0041', X'1F', B'01', N'x'", "select ?, ?, ?, ?, ?, ?, ?"},
		{"select 'a'\n 'b'", "select ?"},
		{"select /* a /* nested */ still */ 1", "select ?"},
		{"select 1 --\rfrom t", "select ? from t"},
		{`select "a""b", "a" "b", "x"."y"`, `select "a""b", "a" "b", "x"."y"`},
		{"COPY t (a, b) FROM STDIN", "copy t(a, b) from stdin"},
		{"select x from t where (a,b) in ((1,2),(3,4))", "select x from t where (a, b) in (...)"},
		{"select a/2, b/c from t", "select a / ?, b / c from t"},
		{"select 'unterminated", "select ?"},
		{`select "unterminated`, "select ?"},
		{"select $a$unterminated", "select ?"},
		{"select 1 /* unterminated", "select ?"},
		{"select \xff, 'a\xffb', \xffname", `select \xff, ?, \xffname`},
		{"select a.\"B c\".d", `select a."B c".d`},
		{"fetch 10 from c", "fetch ? from c"},
	} {
		if got := fold(c.sql); got != c.want {
			t.Errorf("fold(%q)\n got %q\nwant %q", c.sql, got, c.want)
		}
	}
}

func numbers(n int) string { return strings.TrimSuffix(strings.Repeat("7,", n), ",") }

// The cases carry the names under which specs/cases.md has them.
var foldCases = []struct {
	name      string
	same      []string // all one fingerprint
	different []string // each its own, and none that of same
}{
	{"AN-01 IN lists", []string{
		"select * from t where id IN (1)",
		"select * from t where id IN (" + numbers(5000) + ")",
		"select * from t where id in ('a','b')",
		"select * from t where id in (x'00',x'01')",
		"select * from t where id in ($1,$2)",
		"select * from t where id in (?,?,?)",
		"select * from t where id in (1,2,'4'::int)",
		"select * from t where id in (-1,2)",
		"select * from t where id in (NULL, 1)",
		"select * from t where id in (array[1,2], array[3])",
		"select * from t where id in (row(1,2), row(3,4))",
		"select * from t where id in (date '2020-01-01', '2020-01-02'::timestamp(3) with time zone)",
	}, []string{
		"select * from t where id NOT IN (1)",
		"select * from t where id = 1",
		"select * from t where id in (select 1)",
		"select * from t where id = ANY('{1,2}')",
		"select * from t where id in (a, 1)",
		"select * from t where f(id) in (1)",
	}},
	{"AN-01 lists of rows", []string{
		"select * from t where (a,b) IN ((1,2),(3,4))",
		"select * from t where (a, b) in ((1,2))",
		"select * from t where (a, b) in (($1,$2),($3,$4),(5,'6'))",
	}, []string{"select * from t where (a,c) IN ((1,2),(3,4))"}},
	{"AN-01 mixed lists", []string{
		"select * from t where id in (a, 1, 2, b)",
		"select * from t where id in (a, 1, 2, 3, b)",
	}, []string{"select * from t where id in (a, b)"}},
	{"AN-01 ANY", []string{
		"select * from t where id = any(array[1,2])",
		"select * from t where id = any(array[1])",
		"select * from t where id = any(ARRAY[$1,$2,$3])",
	}, []string{"select * from t where id = any(array[a])"}},
	{"AN-02 VALUES lists", []string{
		"insert into t values (1,2)",
		"insert into t values (1,2),(3,4)",
		"INSERT INTO t VALUES ($1,$2), ($3,$4), (5,-6)",
		"insert into t values (DEFAULT,NULL),(1,array[[1,2],[3,4]])",
		"insert into t values ('a'::text,true)",
		"insert into t values " + strings.TrimSuffix(strings.Repeat("(1,'x'),", 1000), ","),
	}, []string{
		"insert into t values (1)",
		"insert into t values (1,2,3)",
		"insert into t (a,b) values (1,2)",
		"insert into t select 1,2",
		"insert into u values (1,2)",
	}},
	{"AN-02 rows with functions", []string{
		"insert into t values (1,now())",
		"insert into t values (1,now()),(2,now())",
		"insert into t values (1,now()),(2,now()),(3, NOW( ))",
	}, []string{"insert into t values (1,clock_timestamp())", "insert into t values (1,2)"}},
	{"AN-02 rows and what follows", []string{
		"insert into t values (1,2) on conflict (a) do update set b = excluded.b returning a, (b)",
		"insert into t values (1,2),(3,4) on conflict (a) do update set b = excluded.b returning a, (b)",
	}, []string{"insert into t values (1,2),(3,4) on conflict (a) do nothing"}},
	{"AN-02 VALUES() is a function", []string{
		"insert into t values (1,2) on duplicate key update a=VALUES(a), b=VALUES(b)",
		"insert into t values (1,2),(3,4) on duplicate key update a=values(a),b=values(b)",
	}, []string{"insert into t values (1,2) on duplicate key update a=values(a)"}},
	{"AN-02 VALUES as a table", []string{
		"select * from (values (1,'a'),(2,'b')) as v(x,y), t",
		"select * from (values (1,'a')) as v(x,y), t",
	}, []string{"select * from (values (1,'a')) as v(x,y), u"}},
	{"AN-06 signs", []string{
		"select * from t where id=-1", "select * from t where id=1", "select * from t where id = - 1",
		"select * from t where id=+1", "select * from t where id=-$1", "select * from t where id=- -1",
		"select * from t where id=1e-5", "select * from t where id=.5", "select * from t where id=0x1f",
		"select * from t where id=1_000", "select * from t where id=0b11", "select * from t where id=0o17",
		"select * from t where id=1.", "select * from t where id=1_000.5e3", "select * from t where id=0189",
		"select * from t where id=--1\n 2", "select * from t where id=/* -1 */3",
	}, []string{"select * from t where id=-b", "select * from t where id=b", "select * from t where id<>1"}},
	{"AN-06 minus", []string{
		"select a-1", "select a - 1", "select a -1", "select a- 1", "select a-$1", "select a - -1",
	}, []string{"select a + 1", "select a", "select -1", "select a, -1", "select a-b", "select - a"}},
	{"AN-06 arithmetic", []string{"select 3*3", "select 7*8", "select 7 * -8"}, []string{"select 7/8", "select 7"}},
	{
		"AN-06 limit",
		[]string{"select a from t limit 5 offset 10", "select a from t limit 1 offset -0"},
		[]string{"select a from t limit 5", "select a from t limit all offset 10"},
	},
	{
		"AN-06 interval",
		[]string{"select now() - interval '1 day'", "select now()-interval '2 days'"},
		[]string{"select now() + interval '1 day'"},
	},
	{
		"AN-06 after words",
		[]string{"select case when a then -1 else -2 end", "select case when a then 1 else 2 end"},
		[]string{"select case when a then b else -2 end"},
	},
	{"AN-07 names", nil, []string{
		"select * from users_2009", "select * from users_2010", "select * from \"select\"", "select * from `+3b7-8*9`",
		"select * from `aaa(bbb)`", "select T1.c2 from t1", "select utf8mb4", "select été", "select テーブル",
		"select * from t", "select * from \"T\"", "select * from db1.t", "select * from db2.t", "select * from e1", "select a1b2",
	}},
	{"AN-07 case and blanks", []string{
		"select été, T1.c2, テーブル1, x１２ from été", "SELECT  été ,t1 . C2,テーブル1,x１２\r\nFROM\tété\f",
	}, []string{"select ÉTÉ, T1.c2, テーブル1, x１２ from été"}},
	{"AN-08 bytes", []string{
		"select '😀' from t", "select '（）' from t", "select '\xff\xfe' from t", "select 'a\x00b' from t", "select '\x81\x5c' from t",
		"select '\u200b' from t",
	}, []string{"select a\u200bb from t", "select \x81\x5c from t", "select \x82\x5c from t", "select （ from t"}},
	{"AN-09 placeholders", []string{
		"select * from t where id=5", "select * from t where id=$1", "select * from t where id=$2", "select * from t where id=?",
		"select * from t where id = ?", "select * from t where id=$?", "select * from t where id=:id", "select * from t where id = :id",
	}, []string{"select * from t where id=id", "select * from t where id=5::int"}},
	{"AN-09 slices are no parameters", []string{"select a[1:2]", "select a[3:4]"}, []string{"select a[b:c]", "select a[1]"}},
	{"comments", []string{
		"select a from t", "select/* x */a from t", "/* app:1 */ select a from t -- trailing", "select a from t;",
		"select a\n--x\n--y\nfrom t;;",
	}, []string{"select a from t t"}},
	{"NULL and booleans outside of lists", nil, []string{
		"select * from t where a is null", "select * from t where a is not null", "select * from t where a is true",
		"select * from t where a = true", "select * from t where a = 1",
	}},
}

func TestFoldCases(t *testing.T) {
	for _, c := range foldCases {
		seen := map[string]string{}
		for i, sql := range c.same {
			got := fold(sql)
			if i > 0 && got != fold(c.same[0]) {
				t.Errorf("%s: not the same\n%.90q → %.200q\n%.90q → %.200q", c.name, c.same[0], fold(c.same[0]), sql, got)
			}
			seen[got] = sql
		}
		for _, sql := range c.different {
			got := fold(sql)
			if other, ok := seen[got]; ok {
				t.Errorf("%s: the same %q\n%.90q\n%.90q", c.name, got, other, sql)
			}
			seen[got] = sql
		}
		for got := range seen {
			if !utf8.ValidString(got) {
				t.Errorf("%s: not valid UTF-8: %q", c.name, got)
			}
		}
	}
}

// slow is far over what linear work takes, even on a busy machine with the race
// detector on, and far below what quadratic work would.
const slow = 10 * time.Second

// AN-10: whatever the text, folding is linear and bounded.
func TestFoldHostile(t *testing.T) {
	const n = 1 << 18
	for _, unit := range []string{
		"(", ")", "((", "[", "'", "\"", "$", "$$", "$a$", "$$$", "$?", "$a", "a/", "a.", "a.\"", "=-", "+-", "-", "--", "/*", "/**/", "*/",
		"?", ":", ":a", "::", "1", "1.", ".1", "1_", "0x", "0b1", "e'", "u&'", "x'", "\\", "`", "{", "\x00", "\xff", "é", "\u200b", "a ", "a,", "in(",
		"in (1,", "values (1),(", "values (a),(", "array[", "(1,2),", "(a),", ",", ";", "; ", "?::a(", "date '1'", "((1),", "'a' ", "- ", "@@a", "#>",
		"(select ", "1e", "1e+", "'\\'", "E'\\",
	} {
		start := time.Now()
		out := fold(strings.Repeat(unit, n/len(unit)))
		if took := time.Since(start); took > slow {
			t.Errorf("%q: took %v", unit, took)
		}
		if len(out) > 4*n {
			t.Errorf("%q: %d bytes", unit, len(out))
		}
	}
}

// bulkInsert is an insert of this size in many rows.
func bulkInsert(size int) string {
	var b strings.Builder
	b.WriteString("insert into t (a, b, c) values (1, 'text of some length', -1.5)")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, ", (%d, 'text %d of some length', %d.5)", i, i, -i)
	}
	return b.String()
}

// AN-02: a bulk insert folds to one row in linear time (the benchmark says how long).
func TestFoldBulkInsert(t *testing.T) {
	start := time.Now()
	if got, want := fold(bulkInsert(1<<20)), "insert into t(a, b, c) values (?, ?, ?)"; got != want {
		t.Errorf("got %.200q", got)
	}
	if took := time.Since(start); took > slow {
		t.Errorf("took %v", took)
	}
}

func BenchmarkFoldBulkInsert(b *testing.B) {
	sql := bulkInsert(10 << 20)
	for b.Loop() {
		fold(sql)
	}
}

func TestFoldIsStable(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"select", " ", "in", "(", ")", ",", "1", "'x'", "$1", "?", "values", "array", "[", "]", "a", "\"B\"", "-", "+", "=", "::", "int", ".",
		"null", "/*c*/", "--\n", ";", ":", "é", "\xff", "E'\\''", "*",
	})
	rapid.Check(t, func(t *rapid.T) {
		sql := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		got := fold(sql)
		if !utf8.ValidString(got) {
			t.Errorf("%q: not valid UTF-8", got)
		}
		if spaced := fold("/* x */ " + sql + "\n"); spaced != got {
			t.Errorf("%q: blanks around matter: %q, %q", sql, got, spaced)
		}
	})
}

func FuzzFold(f *testing.F) {
	for _, c := range foldCases {
		for _, sql := range append(c.same, c.different...) {
			if len(sql) < 200 {
				f.Add(sql)
			}
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if got := fold(sql); !utf8.ValidString(got) {
			t.Errorf("not valid UTF-8: %q", got)
		}
	})
}

func BenchmarkFold(b *testing.B) {
	const sql = "UPDATE pgbench_accounts SET abalance = abalance + 0 WHERE aid = 0;"
	b.ReportAllocs()
	for b.Loop() {
		fold(sql)
	}
}
