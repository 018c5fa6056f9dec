package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/trace"
)

// htmlOf renders a report as the command line does.
func htmlOf(t testing.TB, r *Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (HTML{Escape: quoted4, Files: map[string]string{"captured": "shop.trace", "aurora": "'my runs/aurora.run'"}}).Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	ownParts = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|<meta http-equiv[^>]*>`)
	dataPart = regexp.MustCompile(`(?s)<script id="data" type="application/json">(.*?)</script>`)
)

// dataOf is what the script of a page draws.
func dataOf(t testing.TB, page []byte) map[string]any {
	t.Helper()
	found := dataPart.FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no data")
	}
	var data map[string]any
	if err := json.Unmarshal(found[1], &data); err != nil {
		t.Fatalf("%v in %.300s", err, found[1])
	}
	return data
}

// The pages without our own style and script, and with the data laid out.
func TestGoldenHTML(t *testing.T) {
	for name, r := range reports() {
		page := htmlOf(t, r)
		data := dataOf(t, page)
		laidOut, err := json.MarshalIndent(data, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		page = ownParts.ReplaceAll(page, nil)
		page = dataPart.ReplaceAllLiteral(page, append(append([]byte("<data>\n"), laidOut...), "\n</data>"...))
		golden(t, name+".html", page)
	}
}

// The figures of the page are those of the report (RE-02).
func TestHTMLSaysWhatTheReportSays(t *testing.T) {
	r := reports()["two"]
	rows := dataOf(t, htmlOf(t, r))["fingerprints"].([]any)
	if len(rows) != len(r.Fingerprints) {
		t.Fatalf("%d rows of %d fingerprints", len(rows), len(r.Fingerprints))
	}
	for i, f := range r.Fingerprints {
		row := rows[i].([]any)
		if row[0] != f.ID {
			t.Errorf("row %d is %v, not %s", i, row[0], f.ID)
		}
		for j, want := range f.Runs {
			got := row[3].([]any)[j].([]any)
			if got[0] != float64(want.Count) || got[1] != float64(want.Failed()) || got[4] != round(want.Service.P50) || got[5] != round(want.Service.P99) {
				t.Errorf("row %d, run %d: %v of %+v", i, j, got, want)
			}
		}
	}
}

const hostile = `select '</script><img src=x onerror="document.title='owned'">' /* </textarea><!-- --> "` + "\x00\x1b\u2028\u202e\xff" + ` javascript:alert(1) {{.}} ${1}`

// hostileReport has foreign text wherever there is any.
func hostileReport(escape string) *Report {
	in := recording()
	in.headers[0].Engine, in.headers[0].EngineVersion, in.headers[0].Started = escape, escape, escape
	a := New(Options{})
	events := []trace.Event{
		with(ev(1, selectOne, 0, 5), status(trace.Error, escape)), ev(1, selectOne, 10, 15),
		with(ev(2, selectOne, 10, 15), status(trace.Skipped, escape)), ev(1, entry(trace.OpQuery, "delete from t"), 20, 30),
	}
	a.addEvents(escape, in, events)
	other := runOf(escape)
	a.addEvents("b", other, events)
	a.index.rows[0].sql, a.index.rows[0].op = escape, escape
	r := a.Report()
	r.Gates = []Gate{{Condition: escape, Failed: true, Why: []string{escape}}}
	r.Where = &escape
	return r
}

// RE-01: foreign text stays text, in the markup and in the data, even if nothing
// had escaped it before.
func TestRE01ForeignTextInHTML(t *testing.T) {
	var b bytes.Buffer
	as := func(s string) string { return s }
	if err := (HTML{Escape: as, Files: map[string]string{"b": hostile}}).Write(&b, hostileReport(hostile)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<img", "</textarea", "<!--", `onerror="`} {
		if n := strings.Count(page, bad); n > 0 {
			t.Errorf("%q stands %d times in the page", bad, n)
		}
	}
	if data := dataPart.FindString(page); strings.ContainsAny(data, "\u2028\u2029\x00\x1b") || strings.Count(data, "<") != 2 {
		t.Error("the data is not escaped")
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d script elements end, there are 2", n)
	}
	if got := dataOf(t, b.Bytes())["fingerprints"].([]any); len(got) != 2 {
		t.Errorf("%d fingerprints", len(got))
	}
}

// The policy allows what the page is made of and nothing else.
func TestHTMLPolicy(t *testing.T) {
	page := string(htmlOf(t, reports()["one"]))
	policies := regexp.MustCompile(`content="(default-src[^"]*)"`).FindStringSubmatch(page)
	if policies == nil || strings.Contains(policies[1], "unsafe") || !strings.Contains(strings.ReplaceAll(policies[1], "&#39;", "'"), "default-src 'none'") {
		t.Fatalf("policy %v", policies)
	}
	for _, part := range []string{styleText, scriptText} {
		if !strings.Contains(page, part) {
			t.Error("a part of the page was changed on its way")
		}
	}
	if found := regexp.MustCompile(`(?i)https?://|@import|url\(|\ssrc=|\sstyle=|\son[a-z]+=|innerHTML|fetch\(|XMLHttp`).FindAllString(page, -1); len(found) > 1 || len(found) == 1 && !strings.Contains(page, `"http://www.w3.org/2000/svg"`) {
		t.Errorf("the page may load something: %q", found)
	}
}

// manyFingerprints is two runs of ten thousand statements with long texts.
func manyFingerprints(n, text int) *Report {
	a := New(Options{MaxFingerprints: n})
	for run, label := range []string{"captured", "aurora"} {
		var events []trace.Event
		for i := range n {
			sql := fmt.Sprintf("select a_%d, '<&>' from \"t <&> %d\" where %s = 1", i, i, strings.Repeat("<column>", text/8))
			events = append(events, ev(uint64(i%50), entry(trace.OpQuery, sql), int64(i*1000), int64(i*1000+100+i%900+run*50)))
		}
		a.addEvents(label, recording(), events)
	}
	return a.Report()
}

func TestHTMLStaysUnder2MB(t *testing.T) {
	for _, text := range []int{16, 400} {
		r := manyFingerprints(10_000, text)
		page := htmlOf(t, r)
		rows := dataOf(t, page)["fingerprints"].([]any)
		t.Logf("text of %d: %d bytes, %d fingerprints", text, len(page), len(rows))
		if len(page) >= 2_000_000 {
			t.Errorf("%d bytes", len(page))
		}
		if left := bytes.Contains(page, []byte("are left out to keep the file small")); left != (len(rows) < len(r.Fingerprints)) {
			t.Errorf("%d of %d fingerprints, and the page says so: %v", len(rows), len(r.Fingerprints), left)
		}
		if len(rows) < 9_000 {
			t.Errorf("only %d fingerprints of two runs fit", len(rows))
		}
		if len(rows[0].([]any)) != 5 {
			t.Error("the first fingerprint has no details")
		}
	}
}

// A megabyte of SQL is cut, and by what it takes in the page.
func TestHTMLOfLongSQL(t *testing.T) {
	for _, piece := range []string{"x", "<", "é", "\\"} {
		got := cutEscaped(strings.Repeat(piece, 1<<20/len(piece)), 100)
		b, err := json.Marshal(got)
		if err != nil || len(b) > 120 || len(b) < 80 {
			t.Errorf("%q: %d bytes, %v", piece, len(b), err)
		}
	}
	r := analysed(recording(), ev(1, entry(trace.OpQuery, "select "+strings.Repeat("very_long, ", 100_000)+"1"), 0, 5))
	if page := htmlOf(t, r); len(page) > 200_000 {
		t.Errorf("%d bytes", len(page))
	}
}
