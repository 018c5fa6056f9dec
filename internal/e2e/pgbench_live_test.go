package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/internal/program"
)

// A pgbench script with its statements per transaction and what its
// preliminary session sends (pgbench 15: the first two only for its own scripts).
type script struct {
	name          string
	args          []string
	perTx         int
	preliminaries []string
}

var vacuums = []string{"vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"}

func scripts(t *testing.T) []script {
	t.Helper()
	pipeline := filepath.Join(t.TempDir(), "pipeline.sql")
	text := `\set aid random(1, 100000)
\startpipeline
select abalance from pgbench_accounts where aid = :aid;
update pgbench_accounts set abalance = abalance + 1 where aid = :aid;
select 'it''s', :aid, 1.5;
\endpipeline
select count(*) from pgbench_tellers;
`
	if err := os.WriteFile(pipeline, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	own := slices.Concat([]string{"select o.n", "select count"}, vacuums)
	return []script{
		{"tpcb-like", []string{"-b", "tpcb-like"}, 7, own},
		{"select-only", []string{"-b", "select-only"}, 1, own},
		{"pipeline", []string{"-f", pipeline}, 4, vacuums},
	}
}

func TestPgbenchIsRecordedReplayedAndRecapturedWhole(t *testing.T) {
	source := bank(t)
	target := source.Clone(t)
	kept, last := t.TempDir(), ""
	for _, mode := range []string{"simple", "extended", "prepared"} {
		for _, s := range scripts(t) {
			if s.name == "pipeline" && mode == "simple" {
				continue // pgbench refuses it
			}
			t.Run(mode+"/"+s.name, func(t *testing.T) {
				dir := t.TempDir()
				recorded := recordPgbench(t, source.URL("", ""), dir, mode, s)
				replayAndRecapture(t, recorded, target.URL("", ""), dir)
				if last != "" { // diff must be able to find something
					run(t, 3, "trace", "diff", recorded, last)
				}
				last = filepath.Join(kept, mode+s.name)
				if err := os.Rename(recorded, last); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

const clients, perClient = 4, 50

// recordPgbench records a run and checks it statement by statement, session by
// session.
func recordPgbench(t *testing.T, target, dir, mode string, s script) string {
	t.Helper()
	path := filepath.Join(dir, "recorded.trace")
	c := capture(t, target, path)
	args := append([]string{"-M", mode, "-c", fmt.Sprint(clients), "-j", "2", "-t", fmt.Sprint(perClient)}, s.args...)
	b := pgbench(t, c.Addr, args...)
	report := stop(t, c)

	wanted := int64(clients*perClient*s.perTx + len(s.preliminaries))
	if b.Transactions != clients*perClient || report.Statements != wanted || report.Sessions != clients+1 {
		t.Errorf("pgbench did %d transactions; want %d statements of %d sessions: %+v", b.Transactions, wanted, clients+1, report)
	}
	var info program.Info
	read(t, &info, 0, "trace", "info", path)
	if info.Statements != wanted || info.Sessions != clients+1 || !info.Complete {
		t.Errorf("want %d statements: %+v", wanted, info)
	}
	run(t, 0, "trace", "verify", path)
	sessionsMatch(t, statements(events(t, path)), s)
	return path
}

func sessionsMatch(t *testing.T, by map[uint64][]event, s script) {
	t.Helper()
	preliminary := 0
	for _, id := range slices.Sorted(maps.Keys(by)) {
		got := by[id]
		for _, e := range got {
			if !e.answered || e.status != 0 {
				t.Errorf("session %x: %+v", id, e)
			}
		}
		switch {
		case len(got) == perClient*s.perTx:
		case len(got) == len(s.preliminaries) && isPreliminary(got, s.preliminaries):
			preliminary++
		default:
			t.Errorf("session %x has %d statements: %+v", id, len(got), got[:min(8, len(got))])
		}
	}
	if preliminary != 1 || len(by) != clients+1 {
		t.Errorf("%d sessions, %d of them preliminary", len(by), preliminary)
	}
}

// isPreliminary tells whether these are the wanted statements, in any order
// (pgbench's has changed over the versions).
func isPreliminary(got []event, wanted []string) bool {
	left := slices.Clone(wanted)
	for _, e := range got {
		i := slices.IndexFunc(left, func(w string) bool { return strings.HasPrefix(strings.ToLower(e.sql), w) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// replayAndRecapture replays through a second recorder and expects the same
// requests there, byte for byte.
func replayAndRecapture(t *testing.T, recorded, target, dir string) {
	t.Helper()
	again := filepath.Join(dir, "again.trace")
	c := capture(t, target, again)
	r := replay(t, recorded, c.URL("postgres"), filepath.Join(dir, "run.trace"), "--pace", "closed")
	stop(t, c)
	var info program.Info
	read(t, &info, 0, "trace", "info", recorded)
	if r.Statements.Captured != info.Statements || r.Statements.OK != info.Statements {
		t.Errorf("recorded %d statements, replayed %+v", info.Statements, r.Statements)
	}
	if r.Diverged != 0 || r.Partial || !r.Valid {
		t.Errorf("diverged %d, partial %v, valid %v: %v", r.Diverged, r.Partial, r.Valid, r.Why)
	}
	var d program.Difference
	read(t, &d, 0, "trace", "diff", recorded, again)
	if !d.Equal {
		t.Error("the recapture of the replay differs")
	}
}

// One client's transactions have one order, so their replay must leave the
// same rows behind.
func TestReplayLeavesTheSameTables(t *testing.T) {
	source := bank(t)
	target := source.Clone(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "t.trace")
	c := capture(t, source.URL("", ""), path)
	pgbench(t, c.Addr, "-b", "tpcb-like", "-c", "1", "-t", "500", "-M", "prepared")
	stop(t, c)
	replay(t, path, target.URL("", ""), filepath.Join(dir, "run.trace"), "--pace", "closed")

	const tables = `
select md5(string_agg(a::text, '|' order by aid)) from pgbench_accounts a;
select md5(string_agg(b::text, '|' order by bid)) from pgbench_branches b;
select md5(string_agg(t::text, '|' order by tid)) from pgbench_tellers t;
select count(*), md5(string_agg(concat_ws(',', tid, bid, aid, delta), '|' order by ctid)) from pgbench_history;
select sum(abalance) from pgbench_accounts`
	want, got := source.Psql(t, tables), target.Psql(t, tables)
	if got != want {
		t.Errorf("tables differ:\nrecorded\n%s\nreplayed\n%s", want, got)
	}
	if !strings.Contains(want, "\n500|") {
		t.Errorf("want 500 rows of history:\n%s", want)
	}
}
