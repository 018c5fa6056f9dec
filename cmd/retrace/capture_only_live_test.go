package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// What a filter left of a recording can be replayed, and says what it is.
func TestCaptureOnly(t *testing.T) {
	source, target := dbtest.Postgres15(t), dbtest.Postgres15(t)
	for _, s := range []*dbtest.Server{source, target} {
		s.Psql(t, "create table t (n int primary key); create role other login superuser")
	}
	c := startCapture(t, source.URL("", ""), "--only", "user:postgres -op:select")
	app := c.connect(source)
	for n := range 10 {
		tx, err := app.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var found int
		if err := tx.QueryRow(t.Context(), "select count(*) from t where n < $1", n).Scan(&found); err != nil || found != n {
			t.Fatal(found, err)
		}
		execute(t, app, "insert into t values ($1)", n)
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_ = app.Close(t.Context())
	if _, err := source.Client(t.Context(), "psql", "-X", source.URLVia(c.addr, "other", ""), "-c", "insert into t values (100)").CombinedOutput(); err != nil {
		t.Fatal(err)
	}
	c.end()

	var report captureReport
	if err := json.Unmarshal([]byte(c.out), &report); err != nil || c.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", c.code, err, c.out, c.talk)
	}
	if !report.Complete || report.Sessions != 1 || len(report.LeftOut) != 1 || report.LeftOut[0].Sessions != 1 || report.LeftOut[0].Events < 13 {
		t.Errorf("%s", c.out)
	}
	_, info, _ := ranWith(t.Context(), nil, "trace", "info", c.file)
	if !strings.Contains(info, "user:postgres -op:select") || !strings.Contains(info, fmt.Sprintf("left out     %d events", report.LeftOut[0].Events)) {
		t.Errorf("info does not tell:\n%s", info)
	}
	code, text, talk := ranWith(t.Context(), nil, "replay", c.file, "--target", target.URL("", ""), "--pace", "closed")
	if code != 0 || !strings.Contains(text+talk, "left out") {
		t.Errorf("exit %d\n%s%s", code, text, talk)
	}
	if n := target.Psql(t, "select string_agg(n::text, ',' order by n) from t"); n != "0,1,2,3,4,5,6,7,8,9" {
		t.Errorf("replayed to %s", n)
	}
}
