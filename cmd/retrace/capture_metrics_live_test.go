package main

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
)

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"\})? (\S+)$`)
	headLine   = regexp.MustCompile(`^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
)

// samples reads Prometheus's text format as its specification has it: HELP and
// TYPE before the lines of a metric, which stand together.
func samples(t *testing.T, text string) map[string]float64 {
	t.Helper()
	all, types, current := map[string]float64{}, map[string]string{}, ""
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line does not end")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := headLine.FindStringSubmatch(line); m != nil {
			if m[1] == "TYPE" {
				if types[m[2]] != "" {
					t.Errorf("%s comes twice", m[2])
				}
				types[m[2]], current = m[3], m[2]
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("not a sample: %q", line)
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil || m[1] != current {
			t.Errorf("%q under %s: %v", line, current, err)
		}
		if counter := strings.HasSuffix(m[1], "_total"); counter != (types[m[1]] == "counter") {
			t.Errorf("%s is a %s", m[1], types[m[1]])
		}
		if _, twice := all[m[1]+m[2]]; twice {
			t.Errorf("%s%s comes twice", m[1], m[2])
		}
		all[m[1]+m[2]] = v
	}
	return all
}

func scrape(t *testing.T, addr string) map[string]float64 {
	t.Helper()
	a, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%s %s %v", a.Status, a.Header, err)
	}
	return samples(t, string(b))
}

// What is shown is what went by.
func TestMetrics(t *testing.T) {
	s := dbtest.Postgres15(t)
	metrics := freeAddr(t)
	c := startCapture(t, s.URL("", ""), "--metrics", metrics)
	app := c.connect(s)
	idle := scrape(t, metrics)
	const n = 20
	for range n {
		execute(t, app, "select repeat('x', 10000)")
	}
	var got map[string]float64
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got = scrape(t, metrics)
		if got["retrace_capture_recorded_statements_total"] >= n || time.Now().After(deadline) {
			break
		}
	}
	for name, want := range map[string]float64{
		"retrace_capture_recording": 1, "retrace_capture_unwritable": 0, "retrace_capture_sessions": 1, "retrace_capture_connections": 1,
		"retrace_capture_sessions_total": 1, "retrace_capture_recorded_statements_total": n, "retrace_capture_gaps_total": 0,
		`retrace_capture_dropped_events_total{reason="behind"}`: 0, "retrace_capture_queue_limit_bytes": 16 << 20,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (%v), want %v", name, v, ok, want)
		}
	}
	down := `retrace_capture_bytes_total{from="server"}`
	if grown := got[down] - idle[down]; grown < n*10000 || grown > n*11000 {
		t.Errorf("%v bytes from the server", grown)
	}
	if lag := got["retrace_capture_encoder_lag_seconds"]; lag < 0 || lag > 10 {
		t.Errorf("lag %v", lag)
	}
	_ = app.Close(t.Context())
}

func TestExpositionEscapes(t *testing.T) {
	var m exposition
	m.counter("x_total", "X.", []series{{"a\"b\\c\nd", 1.5}, {"big", 1e15}}, "reason")
	got := samples(t, m.b.String())
	if len(got) != 2 || got[`x_total{reason="a\"b\\c\nd"}`] != 1.5 || !strings.Contains(m.b.String(), " 1000000000000000\n") {
		t.Errorf("%s", m.b.String())
	}
}
