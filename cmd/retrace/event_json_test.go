package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/trace"
)

// Whatever bytes an application sent can be had again from the JSON, NULL and
// redacted values apart from all others.
func TestEventJSONIsLossless(t *testing.T) {
	value := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
		rapid.SampledFrom([][]byte{{}, []byte("\x00\x1f\x7f\"\\\n"), []byte("\u2028\ufffd<>&"), {0xff}, []byte(`{"redacted": true}`), []byte("null")}))
	rapid.Check(t, func(t *rapid.T) {
		e := trace.Event{Session: 1 << 63, Ordinal: 7, Entry: &trace.Entry{Op: trace.OpQuery, Text: string(value.Draw(t, "sql"))}}
		var want []any // nil, true, or bytes
		for range rapid.IntRange(0, 4).Draw(t, "values") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				e.Sizes, want = append(e.Sizes, trace.SizeNull), append(want, nil)
			case 1:
				e.Sizes, want = append(e.Sizes, trace.SizeRedacted), append(want, true)
			default:
				v := value.Draw(t, "value")
				e.Sizes, e.Values, want = append(e.Sizes, trace.SizeOf(len(v))), append(e.Values, v...), append(want, v)
			}
		}
		line, err := eventJSON{values: true, tty: rapid.Bool().Draw(t, "terminal")}.append(nil, &e, nil)
		if err != nil || !utf8.Valid(line) || bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("%q, %v", line, err)
		}
		var got struct {
			Session uint64
			SQL     any
			Values  []any
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		if got.Session != e.Session || !bytes.Equal(bytesOf(t, got.SQL), []byte(e.Entry.Text)) || got.Values == nil || len(got.Values) != len(want) {
			t.Fatalf("%s: %+v", line, got)
		}
		for i, w := range want {
			switch w := w.(type) {
			case nil:
				if got.Values[i] != nil {
					t.Fatalf("NULL became %v", got.Values[i])
				}
			case bool:
				if m, ok := got.Values[i].(map[string]any); !ok || m["redacted"] != true {
					t.Fatalf("redacted became %v", got.Values[i])
				}
			case []byte:
				if !bytes.Equal(bytesOf(t, got.Values[i]), w) {
					t.Fatalf("%q became %v", w, got.Values[i])
				}
			}
		}
	})
}

func bytesOf(t *rapid.T, v any) []byte {
	if s, ok := v.(string); ok {
		return []byte(s)
	}
	m, _ := v.(map[string]any)
	s, ok := m["base64"].(string)
	b, err := base64.StdEncoding.DecodeString(s)
	if !ok || err != nil {
		t.Fatalf("%v is no bytes", v)
	}
	return b
}

// Where values were not kept that is not the same as having none.
func TestEventJSONWithoutValues(t *testing.T) {
	for run, want := range map[bool]string{false: `"values":[]`, true: `"values":null`} {
		line, err := eventJSON{values: true, run: run}.append(nil, &trace.Event{Entry: &trace.Entry{Op: trace.OpQuery}}, nil)
		if err != nil || !bytes.Contains(line, []byte(want)) || !bytes.Contains(line, []byte(`"database":null,"user":null,"application_name":null`)) {
			t.Errorf("run %v: %s, %v", run, line, err)
		}
	}
}
