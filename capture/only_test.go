package capture

import (
	"fmt"
	"slices"
	"testing"

	"github.com/retrace-db/retrace/trace/filter"
)

// onlyDesk records what a filter wants of one session.
func onlyDesk(t *testing.T, text string, all []exchange) (recorded []string, d *desk) {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d = newDesk(t)
	d.options.Only = f
	d.encoder = newEncoder(d.Recorder)
	s := d.login()
	for _, x := range all {
		s.client(x.client, d.tick())
		s.server(x.server, d.tick())
	}
	s.client(msgs(terminate), d.tick())
	s.end(d.tick(), clientGone)
	events := d.finish()
	for _, e := range events {
		recorded = append(recorded, fmt.Sprintf("%d %c %s", e.Ordinal, e.Entry.Op, e.Entry.SQL()))
	}
	v := verified(t, t, d.out.b.Bytes())
	if totals := d.encoder.totals(); v.LeftOut != totals.LeftOut || v.Missing != 0 || v.Events != uint64(len(events)) {
		t.Errorf("verify counts %+v, the recorder %+v", v.Totals, totals)
	}
	return recorded, d
}

func executed(state byte, all ...[]byte) exchange {
	x := exchange{}
	for _, b := range all {
		x.client = append(x.client, b...)
		x.server = append(append(append(x.server, raw('1', "")...), raw('2', "")...), raw('C', "SELECT 1\x00")...)
	}
	x.client, x.server = append(x.client, msgs(syncMsg)...), append(x.server, raw('Z', string(state))...)
	return x
}

func pbe(sql string) []byte { return msgs(parse("", sql), bind("", ""), execute("")) }

var onlyWork = []exchange{
	simple("begin", "BEGIN", 'T'),                 // 1
	simple("select 'a'", "SELECT 1", 'T'),         // 2
	simple("update t set a = 1", "UPDATE 1", 'T'), // 3
	simple("commit", "COMMIT", 'I'),               // 4
	{client: msgs(parse("s", "select $1"), syncMsg), server: append(raw('1', ""), raw('Z', "I")...)},                   // 5
	{client: msgs(bind("", "s", "1"), execute(""), syncMsg), server: append(raw('2', ""), tagged("SELECT 1", 'I')...)}, // 6
	executed('I', pbe("update t set a = 2"), pbe("select 'b'")),                                                        // 7, 8: its Sync is needed
	executed('I', pbe("select 'c'"), pbe("update t set a = 3")),                                                        // 9, 10
	executed('I', pbe("select set_config('search_path', 'a', false)")),                                                 // 11
	executed('I', msgs(parse("n", "select 'd'"), bind("", "n"), execute(""))),                                          // 12: prepares a name
	{client: msgs(query("copy t from stdin")), server: raw('G', "\x00\x00\x00")},                                       // 13
	{client: raw('d', "1\n")}, // 14, with the end
	{client: msgs(copyDone), server: tagged("COPY 1", 'I')},
	simple("select 'e'; select 'f'", "SELECT 1", 'I'),
}

func TestOnlyStatements(t *testing.T) {
	got, d := onlyDesk(t, "op:update", onlyWork)
	want := []string{
		"0 c ", "1 q begin", "3 q update t set a = 0", "4 q commit", "5 p select $1", "7 x update t set a = 0", "8 x select ''",
		"10 x update t set a = 0", "11 x select set_config('', '', false)", "12 x select ''", "16 e ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded\n%q\nwant\n%q", got, want)
	}
	if l := d.leftOut.list(); len(l) != 1 || l[0] != (LeftOut{whyOnly, 0, 6}) {
		t.Errorf("left out %+v", l)
	}
}

func TestOnlyNot(t *testing.T) {
	got, _ := onlyDesk(t, "-op:update -op:copy user:postgres", onlyWork)
	for _, e := range got {
		if e == "3 q update t set a = 0" || e == "13 q copy t from stdin" || e == "14 d " {
			t.Errorf("recorded: %s", e)
		}
	}
	if !slices.Contains(got, "6 x select $1") || !slices.Contains(got, "2 q select ''") {
		t.Errorf("recorded %q", got)
	}
}

// A session that cannot match is left out from its login on.
func TestOnlySessions(t *testing.T) {
	for text, want := range map[string]bool{"user:postgres": true, "user:app": false, "-db:postgres": false, "app:x": false, "-app:x op:select": true} {
		got, d := onlyDesk(t, text, onlyWork)
		if (len(got) > 0) != want {
			t.Errorf("%s: %q", text, got)
		}
		if l := d.leftOut.list(); !want && (len(l) != 1 || l[0] != (LeftOut{whyOnly, 1, 17})) {
			t.Errorf("%s: left out %+v", text, l)
		}
		if v := verified(t, t, d.out.b.Bytes()); !want && (v.Sessions != 0 || v.LeftOut != 17) {
			t.Errorf("%s: %+v", text, v.Totals)
		}
	}
}
