package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/retrace-db/retrace/analyze"
	"github.com/retrace-db/retrace/trace"
)

// Statements as nobody would write them, but for harm.
var hostileSQL = []string{
	`select '<script>alert(1)</script>' /* </textarea><img src=x onerror=alert(2)> */ from "</script><b>"`,
	"select \x1b]0;title\x07, \x1b[31m \u202e\u200b \x00 \x9b from \"a\nb\rc\td\"",
	"\xff\xfe select \xc3\x28 from \"\xf0\x28\x8c\x28\"",
	`=cmd|' /C calc'!A0`,
	"@everyone [x](javascript:alert(1)) `code` **bold** | cell | ~~gone~~\n# heading\n* item",
	"select \"" + strings.Repeat("é", 500_000) + "\"",
	strings.Repeat("(", 100_000),
	"",
}

type madeEvents struct {
	sqls   []string
	tookNS []int64
	n      int
	reason string // of every third, which fails
	open   bool   // no answer comes
}

func (m madeEvents) each(yield func(*trace.Event) bool) {
	entries := make([]*trace.Entry, len(m.sqls))
	for i, sql := range m.sqls {
		entries[i] = &trace.Entry{Op: trace.OpQuery, Text: sql}
	}
	for i := range m.n {
		e := &trace.Event{
			Session: 1, Ordinal: uint64(i), Start: int64(i) * 1e8, RequestEnd: true, HasReply: !m.open,
			Entry: entries[i%len(entries)],
			Reply: trace.Reply{Took: m.tookNS[i%len(m.tookNS)], Rows: 1, Results: 1, State: 'I'},
		}
		if m.reason != "" && i%3 == 0 {
			e.Status, e.Reason = trace.Error, m.reason
		}
		if !yield(e) {
			return
		}
	}
}

// RE-01, RE-02, AN-08: whatever was recorded, every form of the report is well
// formed, has nothing in it that acts, and the same figures.
func TestReportsOfBadInput(t *testing.T) {
	plain := []string{"select 1"}
	inputs := map[string]madeEvents{
		"no statement":   {},
		"one":            {sqls: plain, tookNS: []int64{1000}, n: 1},
		"all equal":      {sqls: plain, tookNS: []int64{123_000}, n: 5000},
		"of no time":     {sqls: plain, tookNS: []int64{0}, n: 200},
		"2 h and 100 ns": {sqls: plain, tookNS: []int64{7200e9, 100}, n: 100},
		"beyond a clock": {sqls: plain, tookNS: []int64{-5000, 1<<62 - 1}, n: 100},
		"only failures":  {sqls: plain, tookNS: []int64{1000}, n: 3, reason: "<b>'\x1b[31m\n=1+1"},
		"unanswered":     {sqls: plain, tookNS: []int64{0}, n: 3, open: true},
		"hostile":        {sqls: hostileSQL, tookNS: []int64{1000, 2000}, n: 800, reason: "=1|<i>\xff"},
	}
	header := &trace.Header{Trace: strings.Repeat("a", 32), Engine: "<b>\x1b[31m\xff", EngineVersion: "| =1+1\n", MadeBy: trace.ByCapture}
	other := &trace.Header{Trace: strings.Repeat("c", 32), Engine: "mysql", MadeBy: trace.ByReplay, Run: &trace.Run{Source: strings.Repeat("d", 32), Pace: "closed"}}
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		for _, against := range []string{"", name, names[(i+1)%len(names)], "all equal"} {
			a := analyze.New(analyze.Options{Alone: against == ""})
			a.AddEvents("=base<script>\x1b", header, inputs[name].each)
			if against != "" {
				a.AddEvents("run|\xff\n", other, inputs[against].each)
			}
			t.Run(name+"/"+against, func(t *testing.T) { checkForms(t, a.Report()) })
		}
	}
}

func checkForms(t *testing.T, r *analyze.Report) {
	out := map[string]string{}
	for _, form := range []string{"text", "md", "csv", "json"} {
		var b bytes.Buffer
		if err := (&analyzeCmd{Output: form}).print(Env{Out: &b}, r); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		out[form] = b.String()
		if !utf8.ValidString(out[form]) {
			t.Errorf("%s is not UTF-8", form)
		}
		for _, c := range out[form] {
			if c != '\n' && (unicode.IsControl(c) || unicode.In(c, unicode.Bidi_Control)) {
				t.Errorf("%s holds %U", form, c)
				break
			}
		}
	}
	for _, bad := range []string{"NaN", "Inf"} {
		for form, s := range out {
			if strings.Contains(s, bad) {
				t.Errorf("%s holds %s", form, bad)
			}
		}
	}
	for _, bad := range []string{"<script", "<img", "<b>", "<i>", "@everyone", "](javascript"} {
		if strings.Contains(out["md"], bad) {
			t.Errorf("md holds %s", bad)
		}
	}
	if len(out["text"])+len(out["md"]) > 100_000 {
		t.Errorf("a long statement is %d and %d bytes of report", len(out["text"]), len(out["md"]))
	}
	checkFigures(t, r, out)
}

// checkFigures holds the spreadsheet against JSON.
func checkFigures(t *testing.T, r *analyze.Report, out map[string]string) {
	var read struct {
		Schema       int
		Total        struct{ Runs []analyze.Figures }
		Fingerprints []struct{ Runs []analyze.Figures }
	}
	if err := json.Unmarshal([]byte(out["json"]), &read); err != nil || read.Schema != analyze.Schema || len(read.Total.Runs) != len(r.Runs) {
		t.Fatalf("json: %v", err)
	}
	figures := read.Total.Runs
	for _, f := range read.Fingerprints {
		figures = append(figures, f.Runs...)
	}
	rows, err := csv.NewReader(strings.NewReader(out["csv"])).ReadAll()
	if err != nil || len(rows) != 1+len(figures) {
		t.Fatalf("csv: %v, %d rows, want %d", err, len(rows), 1+len(figures))
	}
	at := func(row []string, column string) string { return row[slices.Index(rows[0], column)] }
	for i, f := range figures {
		row := rows[i+1]
		p99, errors := "", strconv.FormatUint(f.Failed(), 10)
		if f.Service != nil {
			p99 = strconv.FormatFloat(f.Service.P99, 'f', -1, 64)
		}
		if at(row, "count") != strconv.FormatUint(f.Count, 10) || at(row, "errors") != errors || at(row, "service_p99_us") != p99 {
			t.Errorf("csv %q, json %+v", row, f)
		}
		for _, c := range row {
			if c != "" && strings.ContainsAny(c[:1], "=@+") {
				t.Errorf("a formula: %.60q", c)
			}
		}
	}
}
