package filter

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/trace"
)

// subjects are events of a small shop.
var (
	parse  = &trace.Entry{Op: trace.OpPrepare, Text: "INSERT INTO public.Orders(a) VALUES ('')"}
	insert = event(&trace.Entry{Op: trace.OpExecute, Prepare: parse}, 3*time.Millisecond)
	sel    = event(&trace.Entry{Op: trace.OpQuery, Text: `select * from "Order Items" i, orders where name = '' for update`}, 20*time.Millisecond)
	fetch  = event(&trace.Entry{Op: trace.OpFetch, Text: "select 0 from audit"}, time.Millisecond)
	many   = event(&trace.Entry{Op: trace.OpQuery, Text: "begin; delete from audit; commit"}, time.Millisecond)
	prep   = event(parse, time.Millisecond)
	closed = event(&trace.Entry{Op: trace.OpClose}, time.Millisecond)
	data   = event(&trace.Entry{Op: trace.OpCopy}, 0)
	copied = event(&trace.Entry{Op: trace.OpQuery, Text: "COPY orders FROM stdin"}, time.Second)
	end    = event(&trace.Entry{Op: trace.OpEnd}, 0)
	failed = with(event(&trace.Entry{Op: trace.OpQuery, Text: "update orders set a = 0"}, time.Millisecond), func(e *trace.Event) {
		e.Status, e.Reason, e.Rows, e.Bytes = trace.Error, "40P01", 0, 200_000
	})
	skipped = with(event(&trace.Entry{Op: trace.OpQuery, Text: "select 0"}, 0), func(e *trace.Event) {
		e.Status, e.Reason, e.Rows = trace.Skipped, "aborted", 0
	})
	silent = with(event(&trace.Entry{Op: trace.OpQuery, Text: "select 0"}, 0), func(e *trace.Event) {
		e.HasReply, e.Reply = false, trace.Reply{}
	})
	other = with(event(&trace.Entry{Op: trace.OpQuery, Text: "select 0"}, 0), func(e *trace.Event) {
		e.Diverged = trace.DivergedStatus | trace.DivergedRows
	})
	nameless = event(&trace.Entry{Op: trace.OpExecute}, time.Millisecond)

	all = map[string]*trace.Event{
		"insert": insert, "select": sel, "fetch": fetch, "many": many, "prepare": prep, "close": closed, "data": data,
		"copy": copied, "end": end, "failed": failed, "skipped": skipped, "silent": silent, "nameless": nameless,
	}
	names = []string{"insert", "select", "fetch", "many", "prepare", "close", "data", "copy", "end", "failed", "skipped", "silent", "nameless"}

	shop = &trace.State{Database: "shop", User: "App", Settings: map[string]string{"application_name": "my, \"app\" *"}}
)

func event(e *trace.Entry, took time.Duration) *trace.Event {
	return &trace.Event{Session: 17, Entry: e, HasReply: true, Reply: trace.Reply{Took: int64(took), Rows: 5, Bytes: 100}}
}

func with(e *trace.Event, change func(*trace.Event)) *trace.Event {
	change(e)
	return e
}

func TestMatch(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{"op:select", "select fetch skipped silent"},
		{"op:INSERT,delete", "insert many"},
		{"op:begin", "many"},
		{"op:prepare", "prepare"},
		{"op:copy", "data copy"},
		{"op:close,end,fetch", "fetch close end"},
		{"op:statement -op:execute", "select many copy failed skipped silent"},
		{"op:exec*", "insert nameless"},
		{"op:sel*,c*t", "select fetch many skipped silent"},
		{"op:select -op:fetch", "select skipped silent"},
		{"op:begin op:delete", "many"},
		{"-op:statement -op:fetch", "prepare close data end"},
		{"table:orders", "insert select prepare copy failed"},
		{"table:public.orders", "insert prepare"},
		{"table:Orders op:execute", "insert"},
		{`table:"order items"`, "select"},
		{"table:order*", "insert select prepare copy failed"},
		{"-table:audit,orders", "close data end skipped silent nameless"},
		{`text:"FOR UPDATE"`, "select"},
		{`text:order*values`, "insert prepare"},
		{`text:"*"`, "select"},
		{`text:from*"*"`, ""},
		{"text:''", "insert select prepare"},
		{"fingerprint:" + idOf("SELECT 42"), "skipped silent"},
		{"fingerprint:" + idOf("insert into public.orders (a) values (7), (8)"), "insert prepare"},
		{"session:16", ""},
		{"session:16,17 op:end", "end"},
		{"status:ok op:select", "select fetch"},
		{"status:error,skipped", "failed skipped"},
		{"status:lost", "silent"},
		{"status:filtered,unsent", ""},
		{"-status:ok", "failed skipped silent"},
		{"error:40P01", "failed"},
		{"error:40p*", "failed"},
		{"error:*", "failed"},
		{"error:40001", ""},
		{"took>10ms", "select copy"},
		{"took>=20ms", "select copy"},
		{"took<20ms took>1000us", "insert"},
		{"took<=1ms -op:end -op:data", "fetch many prepare close data failed nameless"},
		{"took=3ms", "insert"},
		{"took<1ms", "data end"},
		{"rows=0", "failed"},
		{"rows>4 op:begin", "many"},
		{"bytes>100kB", "failed"},
		{"bytes>195KiB", "failed"},
		{"bytes>200kB", ""},
		{"-took>=0s", "skipped silent"},
	} {
		f, err := Parse(c.filter)
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		var got []string
		for range 2 { // the second time from memory
			got = nil
			for _, name := range names {
				if f.Match(all[name], nil) {
					got = append(got, name)
				}
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.filter, strings.Join(got, " "), c.want)
		}
	}
}

func idOf(sql string) string {
	s := subject{entry: &trace.Entry{Op: trace.OpQuery, Text: sql}}
	return s.fingerprint()
}

func TestMatchOfSessions(t *testing.T) {
	for _, c := range []struct {
		filter         string
		known, unknown bool
	}{
		{"db:shop", true, false},
		{"db:SHOP", false, false},
		{"db:s*p,other", true, false},
		{"-db:shop", false, true},
		{"-db:other", true, true},
		{"user:App", true, false},
		{"user:app", false, false},
		{`app:"my, \"app\" *"`, true, false},
		{`app:my*`, true, false},
		{`app:my*"*"`, true, false},
		{`app:"my*"`, false, false},
		{`app:""`, false, false},
		{"db:shop op:end", false, false},
	} {
		f, err := Parse(c.filter)
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		if got := f.Match(sel, shop); got != c.known {
			t.Errorf("%s: %v with its state", c.filter, got)
		}
		if got := f.Match(sel, nil); got != c.unknown {
			t.Errorf("%s: %v without a state", c.filter, got)
		}
		if !f.NeedsState() || f.NeedsReply() {
			t.Errorf("%s: needs state %v, reply %v", c.filter, f.NeedsState(), f.NeedsReply())
		}
	}
	f, err := Parse(`app:""`)
	if err != nil || !f.Match(sel, &trace.State{}) {
		t.Errorf("an application without a name: %v", err)
	}
}

func TestNeedsReply(t *testing.T) {
	for text, want := range map[string]bool{
		"op:select table:a session:1 text:x fingerprint:ab": false, "status:ok": true, "error:*": true, "op:select -took>1s": true, "rows=1": true, "bytes>1": true,
	} {
		f, err := Parse(text)
		if err != nil || f.NeedsReply() != want || f.NeedsState() {
			t.Errorf("%s: %v, %v", text, f.NeedsReply(), err)
		}
	}
	var none *Filter
	if !none.Match(sel, nil) || none.NeedsReply() || none.NeedsState() || none.String() != "" {
		t.Error("no filter is a filter that matches everything")
	}
}

// Errors name the place and what could stand there.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{"", "would match everything"},
		{" \t", "would match everything"},
		{"op:select tabel:x", `character 11: there is no key "tabel"; there are op:select,insert table:orders`},
		{"orders", `character 1: "orders" has no key: text:orders looks for it`},
		{"op", `character 1: op is written op:select,insert`},
		{"op>select", "op is written op:select,insert"},
		{"took:10ms", "took is written took>10ms"},
		{"op:", `character 4: a value of op: is missing; "" is the empty one`},
		{"db:a,,b", "character 6: a value of db: is missing"},
		{"db:a,", "character 6: a value of db: is missing"},
		{"- op:x", `there is no key ""`},
		{"--op:x", `there is no key "-op"`},
		{"OP:x", `there is no key "OP"`},
		{`db:"a b`, "character 4: a quote begins here and does not end"},
		{`db:ä op:"sel`, "character 9: a quote begins"},
		{"took>10", `character 6: took>10: "10" needs a unit; it is written took>10ms`},
		{"took>", `"" is no duration`},
		{"took>soon", `"soon" is no duration`},
		{"took>-1s", "no duration is below zero"},
		{"rows>many", `"many" is no whole number`},
		{"rows>-1", `"-1" is no whole number`},
		{"bytes>10XB", `"10X" is no whole number`},
		{"bytes>99999999999GB", "is too much"},
		{"status:good", `"good" is none of ok, error, skipped, filtered, lost, unsent`},
		{"session:a", `"a" is not the number of a session`},
		{"session:1*", `"1*" is not the number of a session`},
		{"ordinal:-1", `"-1" is not the number of an event in its session`},
		{"error:not-a-code", "is not an SQLSTATE"},
		{`op:"select *"`, "is not a word such as"},
		{`op:""`, "the empty value is not a word"},
		{"fingerprint:xyz", "12 hex digits"},
	} {
		_, err := Parse(c.filter)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.filter, err, c.want)
		}
	}
}

func TestStringIsCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"  op:a   -db:b\n":       "op:a -db:b",
		`db:"plain","a b","*",*`: `db:plain,"a b","*",*`,
		`db:x"y z"*`:             `db:"xy z"*`,
		`db:"\"\\"`:              `db:"\"\\"`,
		`db:\`:                   `db:\`,
		"took>=1500us":           "took>=1.5ms",
		"bytes<1MiB":             "bytes<1048576",
		"rows=007":               "rows=7",
	} {
		f, err := Parse(text)
		if err != nil || f.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, f, err, want)
		}
	}
}

// What a filter says of itself parses to a filter that says and does the same.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.Custom(drawWord), 1, 4).Draw(t, "words"), " ")
		f, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := Parse(f.String())
		if err != nil {
			t.Fatalf("%s became %s: %v", text, f, err)
		}
		if again.String() != f.String() {
			t.Fatalf("%s became %s became %s", text, f, again)
		}
		for _, name := range names {
			for _, s := range []*trace.State{nil, shop, {Database: "a", User: "*"}} {
				if f.Match(all[name], s) != again.Match(all[name], s) {
					t.Fatalf("%s and %s differ on %s", text, again, name)
				}
			}
		}
	})
}

func drawWord(t *rapid.T) string {
	negated := rapid.SampledFrom([]string{"", "-"}).Draw(t, "negated")
	value := rapid.SampledFrom([]string{"a", `"a b"`, `""`, "*", `"*"`, "s*p", `\`, `"\\\""x`, "ö", `"my, "*`, "\x00", "a:b", "a>b"})
	k := rapid.SampledFrom(keys).Draw(t, "key")
	if k.quantity != nil || k.check != nil {
		return negated + k.example
	}
	return negated + k.name + ":" + strings.Join(rapid.SliceOfN(value, 1, 3).Draw(t, "values"), ",")
}

// Matching costs nothing that grows with the trace.
func TestMatchAllocatesNothing(t *testing.T) {
	f, err := Parse(`op:select,update table:orders -text:audit db:shop user:A* status:ok,error -error:23505 took<1m rows<10 session:1,17`)
	if err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(100, func() {
		if !f.Match(sel, shop) || !f.Match(failed, shop) {
			t.Fatal("no match")
		}
	})
	if n > 0 {
		t.Errorf("%v allocations for two events", n)
	}
}

func FuzzParse(f *testing.F) {
	for i := range keys {
		f.Add(keys[i].example + " -" + keys[i].example)
	}
	f.Add(`db:"a \" b"*,"" took>=1.5h bytes<1KiB -op:*`)
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(parsed.String())
		if err != nil || again.String() != parsed.String() {
			t.Fatalf("%q became %q: %v", text, parsed, err)
		}
		for _, name := range names {
			parsed.Match(all[name], shop)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	f, err := Parse("op:select,insert table:orders db:shop took>1ms")
	if err != nil {
		b.Fatal(err)
	}
	events := []*trace.Event{sel, insert, failed, copied}
	for i := range b.N {
		f.Match(events[i&3], shop)
	}
}

func TestDiverged(t *testing.T) {
	for text, want := range map[string]bool{
		"diverged:*": true, "diverged:rows": true, "diverged:result,STATUS": true, "diverged:result": false, "-diverged:*": false, "diverged:r*": true,
	} {
		f, err := Parse(text)
		if err != nil || f.Match(other, nil) != want || !f.NeedsReply() {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
		if f != nil && f.Match(sel, nil) != (text[0] == '-') {
			t.Errorf("%s matches what did not diverge", text)
		}
	}
	if _, err := Parse("diverged:yes"); err == nil || !strings.Contains(err.Error(), "status, rows, result") {
		t.Errorf("diverged:yes: %v", err)
	}
}

func TestFiltersOfSessions(t *testing.T) {
	for text, want := range map[string]bool{
		"db:shop -user:x session:17 app:*": true, "db:shop op:select": false, "took>1s": false, "status:ok": false, "-table:a": false,
	} {
		f, err := Parse(text)
		if err != nil || f.OnlySessions() != want {
			t.Errorf("%s: %v, %v", text, f.OnlySessions(), err)
		}
	}
	f, err := Parse("db:shop session:17,18")
	if err != nil || !f.MatchSession(17, shop) || f.MatchSession(19, shop) || f.MatchSession(17, nil) || f.MatchSession(17, &trace.State{Database: "x"}) {
		t.Errorf("sessions are not told apart: %v", err)
	}
}
