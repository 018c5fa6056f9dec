package sqltext

import (
	"fmt"
	"testing"
)

// What outlasts a transaction, by the server's grammar (SET, RESET, set_config).
func TestSettings(t *testing.T) {
	for src, want := range map[string]string{
		"set search_path to a, b":                              "[search_path]",
		"SET SESSION Search_Path = 'a'":                        "[search_path]",
		"set local search_path = a":                            "[]",
		"set /* c */ App.User to 'joe'":                        "[app.user]",
		`set "app"."User" to 1`:                                "[app.user]",
		"set search_path to default":                           "[search_path] back",
		"set time zone 'UTC'":                                  "[timezone]",
		"set session time zone local":                          "[timezone] back",
		"set timezone = 'UTC'":                                 "[timezone]",
		"set names 'utf8'":                                     "[client_encoding]",
		"set names":                                            "[client_encoding] back",
		"set schema 'a'":                                       "[search_path]",
		"set role joe":                                         "[role]",
		"set role none":                                        "[role]",
		"set role = joe":                                       "[role]",
		"set session role joe":                                 "[role]",
		"set session authorization joe":                        "[session_authorization role]",
		"set session session authorization 'joe'":              "[session_authorization role]",
		"set session authorization default":                    "[session_authorization role] back",
		"set session characteristics as transaction read only": "[default_transaction_read_only]",
		"set session characteristics as transaction isolation level serializable, read write, not deferrable": "[default_transaction_isolation default_transaction_read_only default_transaction_deferrable]",
		"set transaction isolation level serializable":                                                        "[]",
		"set constraints all deferred":                                                                        "[]",
		"set xml option document":                                                                             "[xmloption]",
		"set":                                                                                                 "[]",
		"set a":                                                                                               "[]",
		"reset a.b":                                                                                           "[a.b] back",
		"RESET ALL":                                                                                           "[] back all",
		"reset time zone":                                                                                     "[timezone] back",
		"reset session authorization":                                                                         "[session_authorization role] back",
		"reset role":                                                                                          "[role] back",
		"reset transaction isolation level":                                                                   "[]",
		"select set_config('Search_Path', '', false)":                                                         "[search_path]",
		"SELECT pg_catalog.set_config('a.b', 'x', FALSE) as c":           "[a.b]",
		"select set_config('a', 'x', true)":                              "[]",
		"select set_config('a', $1, false)":                              "[]",
		"select set_config('a', 'x', false) from t":                      "[]",
		"select set_config('a', 'x', false), set_config('b', '', false)": "[]",
		"select set_config('a', 'x' || 'y', false)":                      "[]",
	} {
		s := Settings([]byte(src))
		got := fmt.Sprint(s.Names)
		if s.Back {
			got += " back"
		}
		if s.All {
			got += " all"
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", src, got, want)
		}
	}
}

func TestSavepointName(t *testing.T) {
	for src, want := range map[string]string{
		"savepoint A": "a", `savepoint "A"`: "A", "release a": "a", "release savepoint a": "a",
		"rollback to a": "a", "ROLLBACK WORK TO SAVEPOINT a": "a", "rollback transaction to a": "a",
		"rollback": "", "rollback work": "", "rollback and chain": "", "abort": "",
	} {
		if got, ok := SavepointName([]byte(src)); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v", src, got, ok)
		}
	}
}

func TestHoldsSecret(t *testing.T) {
	for src, want := range map[string]bool{
		"set a = 'b'": false, "set app.password = 'b'": true, "set app.jwt_token to x": true,
		"select set_config('a', 'b', false)": false, "select set_config('app.secret', 'b', false)": true,
		"alter user joe password 'x'": true, "reset all": false,
	} {
		if got := HoldsSecret([]byte(src)); got != want {
			t.Errorf("%q: got %v", src, got)
		}
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("set a.b to default")
	f.Add("select set_config('a', 'b', false)")
	f.Add("rollback to \"a")
	f.Fuzz(func(t *testing.T, s string) {
		text := []byte(s)
		Settings(text)
		SavepointName(text)
		HoldsSecret(text)
		Effects(text)
	})
}
