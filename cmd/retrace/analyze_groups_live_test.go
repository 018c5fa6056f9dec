package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/retrace-db/retrace/analyze"
	"github.com/retrace-db/retrace/internal/dbtest"
)

// The same on the same server, with the data brought back before each replay, is
// no change; without an index it is one, of the statement that used it.
func TestGroupsOnAServer(t *testing.T) {
	s := dbtest.Postgres15(t)
	const runs, rounds = 5, 60
	var queries []string
	for i := range rounds {
		queries = append(queries, fmt.Sprintf("select n from item where k = %d", 100*i), "update total set n = n + 1")
	}
	path := selects(t, nil, 1, queries...)
	dir := filepath.Join(t.TempDir(), "runs")
	restore := `index=; [ "$RETRACE_LABEL" = new ] || index="create index on item(k)"
		psql -q -X -v ON_ERROR_STOP=1 -d "$RETRACE_TARGET" -c "set client_min_messages to error" -c "drop table if exists item, total" \
			-c "create table total as select 0 as n" -c "create table item as select k, 0 as n from generate_series(0, 100000) k" \
			-c "$index" -c "vacuum analyze item"`
	args := []string{"replay", path, "--pace", "closed", "--runs", fmt.Sprint(runs), "--before", restore, "-w", dir, "-q"}
	for _, label := range []string{"old", "again", "new"} {
		args = append(args, "--target", label+"="+s.URL("", "postgres"))
	}
	if code, text, talk := ranWith(t.Context(), nil, args...); code != 0 {
		t.Fatalf("exit %d: %s%s", code, text, talk)
	}
	groups := []string{"analyze", "-q", "-o", "json", "--min-effect", "50%"}
	for _, label := range []string{"old", "again", "new"} {
		groups = append(groups, label+"="+filepath.Join(dir, label+"-*.run"))
	}
	code, text, talk := ranWith(t.Context(), nil, groups...)
	var r analyze.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != 0 || len(r.Runs) != 3 || len(r.Fingerprints) != 2 {
		t.Fatalf("exit %d, %v: %s%s", code, err, text, talk)
	}
	for i, run := range r.Runs {
		if len(run.Members) != runs || run.Statements != runs*2*rounds || r.Total.Runs[i].OK != runs*2*rounds || r.Total.Runs[i].Diverged.Statements != 0 {
			t.Errorf("%+v, %+v", run, r.Total.Runs[i])
		}
	}
	for _, f := range append(r.Fingerprints, analyze.Fingerprint{SQL: "all", Runs: r.Total.Runs}) {
		again, without := f.Runs[1].Change, f.Runs[2].Change
		if again.Verdict == analyze.Improved || again.Verdict == analyze.Degraded {
			t.Errorf("%s: the same is %s by %g%% (%v)", f.SQL, again.Verdict, *again.Pct, *again.CI)
		}
		if f.Op == "select" && (without.Verdict != analyze.Degraded || *without.Blocks != runs) {
			t.Errorf("%s: without its index it is %s: %+v", f.SQL, without.Verdict, *without)
		}
	}
}
