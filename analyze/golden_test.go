package analyze

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/retrace-db/retrace/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file, or rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s", name, got)
	}
}

// shop is made-up traffic on a few statements whose cost is known: each
// session runs them in turn, slowed by a factor.
func shop(seed uint64, slower float64, due bool) []trace.Event {
	r := rand.New(rand.NewPCG(seed, 1))
	kinds := []struct {
		entry *trace.Entry
		us    float64
	}{
		{entry(trace.OpExecute, "select name, price from product where id = $1"), 120},
		{entry(trace.OpQuery, "UPDATE stock SET n = n - 0 WHERE product = 0 AND place IN (0, 0, 0) RETURNING n"), 900 * slower},
		{entry(trace.OpQuery, "insert into audit (at, who, what) values (now(), '', ''), (now(), '', '') -- 0"), 300},
		{entry(trace.OpQuery, "select count(*) from orders join customer using (customer_id) join address using (address_id)"+
			" where customer.name like '' and address.country = '' and orders.created between '' and '' group by address.country order by 0 limit 0"), 25_000},
		{entry(trace.OpQuery, "\x1b[31mselect 'forged \u202e line\n"), 10},
	}
	var events []trace.Event
	for id := range uint64(3) {
		at := int64(id)
		events = append(events, ev(id, connect, at, at+2000))
		at += 3000
		for i := range 1500 {
			k := kinds[min(r.IntN(40)/10+r.IntN(2)*r.IntN(2), len(kinds)-1)]
			took := int64(k.us * math.Exp(0.3*r.NormFloat64()))
			e := ev(id, k.entry, at, at+took)
			e.Ordinal, e.State, e.HasDue, e.Due = uint64(i), 'I', due, e.Start-r.Int64N(300)*us
			switch {
			case i%50 == 7:
				e.Status, e.Reason, e.Rows = trace.Error, "23505", 0
			case i%67 == 8:
				e.Status, e.Reason, e.Rows = trace.Skipped, "aborted", 0
			case due && i%200 == 9:
				e.Diverged = trace.DivergedRows
			}
			events = append(events, e)
			at += took + r.Int64N(2000)
		}
		events = append(events, ev(id, ending, at, at))
	}
	return events
}

func reports() map[string]*Report {
	two := New(Options{})
	two.addEvents("captured", recording(), shop(1, 1, false))
	two.addEvents("aurora", runOf("original"), shop(1, 1.4, true))
	torn := recording()
	torn.damage = []trace.Damage{{File: "shop.trace", From: 100, To: 300, What: "torn"}}
	torn.headers[0].EngineVersion = "15.20"
	lost := []trace.Event{with(ev(1, selectOne, 0, 0), func(e *trace.Event) { e.HasReply = false })}
	return map[string]*Report{
		"one":     analysed(recording(), shop(1, 1, false)...),
		"two":     two.Report(),
		"empty":   analysed(recording()),
		"single":  analysed(recording(), ev(1, selectOne, 0, 1)),
		"lost":    analysed(torn, lost...),
		"extreme": analysed(recording(), ev(1, selectOne, 0, 7200e6), with(ev(2, selectOne, 0, 0), func(e *trace.Event) { e.Took = 100 })),
	}
}

func TestGoldenText(t *testing.T) {
	for name, r := range reports() {
		var b bytes.Buffer
		if err := (Text{Top: 6 - len(r.Runs), Escape: quoted4}).Write(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", b.Bytes())
		for _, line := range strings.Split(b.String(), "\n") {
			if n := text.StringWidthWithoutEscSequences(line); n > 100 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

// quoted4 stands in for the escaping of the command line.
func quoted4(s string) string {
	q := fmt.Sprintf("%+q", s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

func TestGoldenMarkdownAndCSV(t *testing.T) {
	for name, r := range reports() {
		var md, table bytes.Buffer
		if err := (Text{Top: 6 - len(r.Runs), Escape: quoted4}).Markdown(&md, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".md", md.Bytes())
		if err := CSV(&table, r, quoted4); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".csv", table.Bytes())
	}
}

// SQL, labels and error codes are foreign: no markup of theirs becomes markup of
// the report, no formula of theirs one of a spreadsheet.
func TestForeignTextStaysText(t *testing.T) {
	const evil = "=cmd|' /C calc'!A0 <script>alert(1)</script> [x](javascript:y) | @everyone `code` **b**\n"
	in := recording()
	a := New(Options{})
	// folding would change it: it is given as the text of the row
	a.addEvents(evil, in, []trace.Event{with(ev(1, selectOne, 0, 5), status(trace.Error, evil)), ev(1, selectOne, 10, 15)})
	a.addEvents("b", runOf("closed"), []trace.Event{ev(1, selectOne, 0, 5)})
	a.index.rows[0].sql = evil
	r := a.Report()
	var md, table bytes.Buffer
	if err := (Text{Escape: quoted4}).Markdown(&md, r); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "[x](", "@everyone", " `code", "0 **b**"} {
		if strings.Contains(md.String(), bad) {
			t.Errorf("%q stands in\n%s", bad, md.String())
		}
	}
	if err := CSV(&table, r, quoted4); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if len(row) != len(rows[0]) {
			t.Errorf("%d cells, not %d: %q", len(row), len(rows[0]), row)
		}
		for _, c := range row {
			if strings.HasPrefix(c, "=") {
				t.Errorf("a formula: %q", c)
			}
		}
	}
}

func TestGoldenJSON(t *testing.T) {
	for name, r := range reports() {
		b, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		golden(t, name+".json", append(b, '\n'))
	}
}

func TestLabelsStayApart(t *testing.T) {
	runs := []Run{{Label: "captured-on-monday"}, {Label: "captured-on-tuesday"}, {Label: "été\n"}}
	got := shortLabels(runs, quoted4)
	want := []string{"1 captured-…", "2 captured-…", `3 \u00e9t\u…`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := shortLabels(runs[1:], quoted4); got[0] != "captured-on…" {
		t.Errorf("got %q", got)
	}
}

func TestUnits(t *testing.T) {
	for us, want := range map[float64]string{
		0: "0", -1: "0", 0.1: "100ns", 1: "1.00µs", 12.34: "12.3µs", 999.4: "999µs", 1234: "1.23ms", 56_789: "56.8ms",
		1e6: "1.00s", 119e6: "119s", 120e6: "2.0min", 7200e6: "2.0h", 86400e6: "24.0h",
	} {
		if got := Duration(us); got != want {
			t.Errorf("Duration(%g) = %q, want %q", us, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", math.MaxUint64: "18,446,744,073,709,551,615"} {
		if got := number(n); got != want {
			t.Errorf("number(%d) = %q", n, got)
		}
	}
	for pct, want := range map[float64]string{0: "±0.0%", -0.04: "±0.0%", -12.34: "-12.3%", 50: "+50.0%", 420: "×5.20"} {
		if got := change(pct); got != want {
			t.Errorf("change(%g) = %q, want %q", pct, got, want)
		}
	}
}
