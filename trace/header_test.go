package trace

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// The start block is JSON that one can read with head, and what this program
// does not know in it survives a copy.
func TestHeaderJSON(t *testing.T) {
	h := Header{
		Trace: traceID, Engine: "postgres", EngineVersion: "15.20", MadeBy: ByReplay, Tool: "retrace test",
		Started: "2026-01-02T03:04:05.000000006Z", Timing: TimingClosedLoop,
		Source: &Source{Target: "postgres://h/db", Addresses: []string{"127.0.0.1:5432"}, Listen: []string{"127.0.0.1:6000"}, Settings: map[string]string{"TimeZone": "UTC"}},
		Run:    &Run{Source: "f00", Label: "b", Pace: "original", Speed: 2, DurationS: 1.5},
		Extra:  map[string]json.RawMessage{"keys": json.RawMessage(`["age1"]`)},
	}
	b := plain(t, h, WriterOptions{NoValues: true, Due: true}, 1)
	start, err := parseHeader(b)
	must(t, err)
	line := string(b[headerSize : headerSize+start.stored])
	const want = `{"retrace":1,"trace":"0123456789abcdef0123456789abcdef","segment":0,"tick_ns":1000,"engine":"postgres",` +
		`"engine_version":"15.20","made_by":"replay","tool":"retrace test","started":"2026-01-02T03:04:05.000000006Z","timing":"closed_loop",` +
		`"source":{"target":"postgres://h/db","addresses":["127.0.0.1:5432"],"listen":["127.0.0.1:6000"],"settings":{"TimeZone":"UTC"}},` +
		`"run":{"source":"f00","label":"b","pace":"original","speed":2,"duration_s":1.5},` +
		`"columns":["session","events","ordinal","gap","took","shape","rows","bytes","status","state","tail","results","reason","flags","due"],` +
		`"keys":["age1"]}` + "\n"
	if line != want {
		t.Errorf("start block:\n%s\nwant\n%s", line, want)
	}
	if start.first != 1767323045000000006 {
		t.Errorf("first %d", start.first)
	}
	got := NewReader(bytes.NewReader(b), "x").Header()
	if got == nil || !got.IsRun() || string(got.Extra["keys"]) != `["age1"]` || got.Source.Settings["TimeZone"] != "UTC" {
		t.Errorf("read %+v", got)
	}
}

func TestHeaderRefused(t *testing.T) {
	for want, h := range map[string]Header{
		"tick_ns -1":                       {TickNS: -1},
		"tick_ns 2000000000":               {TickNS: 2e9},
		"segment -1":                       {Segment: -1},
		"started: parsing time":            {Started: "yesterday"},
		"shorten its settings":             {Source: &Source{Settings: map[string]string{"x": strings.Repeat("y", maxStart)}}},
		"trace id " + `"x"` + " is not 32": {Trace: "x"},
	} {
		if _, err := NewWriter(&bytes.Buffer{}, h, WriterOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
