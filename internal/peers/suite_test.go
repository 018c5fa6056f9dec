package main

import "testing"

func TestOutcomesAreReadFromGoTest(t *testing.T) {
	got := read([]byte(`{"Action":"run","Package":"p","Test":"A"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"fail","Package":"p","Test":"A/b c"}
{"Action":"skip","Package":"q","Test":"A"}
not JSON
{"Action":"pass","Package":"p"}
`))
	if len(got) != 3 || got["p A"] != "pass" || got["p A/b c"] != "fail" || got["q A"] != "skip" {
		t.Error(got)
	}
	if s := got.String(); s != "1 tests pass, 1 fail, 1 are skipped" {
		t.Error(s)
	}
}
