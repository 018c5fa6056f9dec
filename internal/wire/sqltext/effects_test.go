package sqltext

import (
	"fmt"
	"strings"
	"testing"
)

var effectNames = [...]string{"-", "commit", "rollback", "prepare", "deallocate", "discard", "set", "set_config", "reset", "savepoint", "release"}

func TestEffects(t *testing.T) {
	for src, want := range map[string]string{
		"":                        "",
		"select 1":                "",
		"select 1;":               "",
		"select 1; ; select 2":    "",
		"commit":                  "commit",
		" COMMIT WORK ;":          "commit",
		"-- c\n/* d */ End":       "commit",
		"; ;commit":               "commit",
		"committed":               "",
		"rollback":                "rollback",
		"abort":                   "rollback",
		"rollback to savepoint a": "rollback",
		"commit prepared 'x'":     "",
		"ROLLBACK PREPARED 'x'":   "",
		"prepare transaction 'x'": "commit",
		"begin; insert into t values (';'); commit": "commit",
		"begin; select 'commit'; end":               "commit",
		"select $$;commit;$$; rollback":             "rollback",
		"prepare A as select 1":                     "prepare a",
		`prepare "A""b" (int) as select 1`:          `prepare A"b`,
		"prepare a as select 1; deallocate a":       "prepare a, deallocate a",
		"deallocate prepare B":                      "deallocate b",
		"deallocate all":                            "deallocate ALL",
		"deallocate prepare all":                    "deallocate ALL",
		`deallocate "all"`:                          "deallocate all",
		"deallocate prepare":                        "deallocate prepare",
		"discard all":                               "discard",
		"discard plans":                             "discard",
		"deallocate/**/x":                           "deallocate x",
		"(select 1)":                                "",
		"set a = 1":                                 "set",
		"SET LOCAL a = 1; reset a":                  "set, reset",
		"sets":                                      "",
		"savepoint a; release savepoint a":          "savepoint, release",
		"select set_config('a', 'b', false)":        "set_config",
		"select -- c\n pg_catalog.set_config($1)":   "set_config",
		"select settings from t":                    "",
		"select 1; select set_config('a','b',true)": "set_config",
		"select a, set_config('a','b',true)":        "",
		"\xff\x00;commit":                           "commit",
	} {
		var got []string
		for _, st := range Effects([]byte(src)) {
			s := effectNames[st.Effect]
			switch {
			case st.Effect != Prepare && st.Effect != Deallocate:
			case st.Name == nil:
				s += " ALL"
			default:
				s += " " + Name(st.Name)
			}
			got = append(got, s)
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
}

func TestPreparedText(t *testing.T) {
	st := Effects([]byte("select 1; prepare a as select ';'; select 2"))
	if len(st) != 1 || string(st[0].Text) != " prepare a as select ';'" {
		t.Errorf("got %+v", st)
	}
}

// Names are folded and cut as the server folds and cuts them.
func TestName(t *testing.T) {
	long := strings.Repeat("x", 70)
	for in, want := range map[string]string{
		"Abc": "abc", `"Abc"`: "Abc", `"a""b"`: `a"b`, "É": "É", long: long[:63], `"` + long + `"`: long[:63], `""`: "", `"`: `"`,
	} {
		if got := Name([]byte(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// AN-01, AN-06, AN-07: what must be one shape and what must not.
func TestFoldedTexts(t *testing.T) {
	fold := func(s string) string { return strings.Join(strings.Fields(string(Fold(nil, []byte(s)))), " ") }
	for _, same := range [][]string{
		{"id=-1", "id=1", "id=1e-5", "id=.5", "id=0x1f", "id=1_000", "id=+3"},
		{"select 3*3", "select 7*8"},
		{"limit 5 offset 10", "limit 50 offset 1"},
		{"x in (1,-2)", "x in (3,4)"},
		{"x = 'a'", "x = 'it''s'", "x = E'\\'", "x = $$b$$", "x = ''", "x = N'c'", "x = '\xff\xfe'", "x = 'emoji 🙂'"},
		{"interval '1 day'", "interval '2 hours'"},
		{"select 1 -- -1", "select 2 /* 3 */"},
	} {
		for _, s := range same[1:] {
			if fold(s) != fold(same[0]) {
				t.Errorf("%q is %q, %q is %q", same[0], fold(same[0]), s, fold(s))
			}
		}
	}
	different := []string{
		"a - 1", "a + 1", "a=-b", "select * from users_2009", "select * from users_2010", `select "select"`, "select T1.c2", "select utf8mb4",
		"select été", "select テーブル", "select t", `select "T"`, "select db1.t", "select db2.t", "x = 1", "x in (1)", "where id = $1", "where id = $2",
	}
	seen := map[string]string{}
	for _, s := range different {
		if other, ok := seen[fold(s)]; ok {
			t.Errorf("%q and %q are both %q", s, other, fold(s))
		}
		seen[fold(s)] = s
	}
}

// AN-02: a bulk insert of 10 MB takes well under a second.
func BenchmarkFoldBulkInsert(b *testing.B) {
	src := []byte("insert into t values " + strings.Repeat("(1234,'abcdef',-5.5e3,now()),", 360_000) + "(1)")
	var dst []byte
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		dst = Fold(dst[:0], src)
	}
}

func BenchmarkLiterals(b *testing.B) {
	for _, src := range []string{"BEGIN", "SELECT abalance FROM pgbench_accounts WHERE aid = 1234567;", "UPDATE pgbench_accounts SET abalance = abalance + -4711 WHERE aid = 1234567;"} {
		b.Run(fmt.Sprint(len(src)), func(b *testing.B) {
			var l Literals
			text := []byte(src)
			b.ReportAllocs()
			for b.Loop() {
				l.Reset(text)
				for _, ok := l.Next(); ok; _, ok = l.Next() {
				}
			}
		})
	}
}
