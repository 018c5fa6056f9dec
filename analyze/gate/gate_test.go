package gate

import (
	"slices"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/analyze"
)

// report is of two runs with two fingerprints.
func report() *analyze.Report {
	figures := func(count, ok uint64, us float64, response *analyze.Latency) analyze.Figures {
		f := analyze.Figures{Count: count, OK: ok, Response: response}
		if count > ok {
			f.Errors = map[string]uint64{"23505": count - ok}
		}
		if ok > 0 {
			f.Service = &analyze.Latency{Count: ok, Mean: us, P50: us, P95: 2 * us, P99: 3 * us, P999: 4 * us, Max: 5 * us}
		}
		return f
	}
	judged := func(f analyze.Figures, v analyze.Verdict) analyze.Figures {
		f.Change = &analyze.Change{Verdict: v}
		return f
	}
	return &analyze.Report{
		Runs:        []analyze.Run{{Label: "before", SpanS: new(10.0)}, {Label: "after", SpanS: new(20.0)}},
		Total:       analyze.Total{Runs: []analyze.Figures{figures(1000, 1000, 100, nil), judged(figures(1000, 990, 120, &analyze.Latency{P99: 9000}), analyze.Same)}},
		Comparisons: []analyze.Comparison{{Verdict: analyze.Same}},
		Fingerprints: []analyze.Fingerprint{
			{ID: "aaa", Runs: []analyze.Figures{figures(900, 900, 100, nil), judged(figures(900, 890, 150, nil), analyze.Degraded)}},
			{ID: "bbb", Runs: []analyze.Figures{figures(100, 100, 100, nil), judged(figures(100, 100, 90, nil), analyze.Same)}},
			{ID: "new", Runs: []analyze.Figures{figures(0, 0, 0, nil), judged(figures(1, 1, 5e6, nil), analyze.Incomparable)}},
		},
	}
}

func TestGates(t *testing.T) {
	for text, want := range map[string]string{ // "" holds
		"p50 > 1ms":                            "",
		"p50 > 119µs":                          "after: service.p50 120µs",
		"service.p50>119us":                    "after: service.p50 120µs",
		"total p50 >= 120us":                   "after: service.p50 120µs",
		"p50 > 120us":                          "",
		"p50 < 0.12ms":                         "",
		"p50 <= 0.12ms":                        "after: service.p50 120µs",
		"p95 > 239us":                          "service.p95 240µs",
		"p99 > 359us":                          "service.p99 360µs",
		"p99.9 > 479us":                        "service.p99.9 480µs",
		"max > 599us":                          "service.max 600µs",
		"mean > +19%":                          "after: service.mean +20.0%, from 100µs to 120µs",
		"mean > +21%":                          "",
		"mean < -1%":                           "",
		"any mean < -5%":                       "after, fingerprint bbb: service.mean -10.0%",
		"any p50 > +40%":                       "after, fingerprint aaa: service.p50 +50.0%",
		"any p50 > 4s":                         "after, fingerprint new: service.p50 5.00s",
		"any p50 > +60%":                       "",
		"fingerprint:bbb p50 > 50us":           "after, fingerprint bbb",
		"fingerprint:bbb p50 > 95us":           "",
		"fingerprint:gone p50 > 50us":          "no such figure",
		"fingerprint:new p50 > +10%":           "no such figure",
		"response.p99 > 8ms":                   "response.p99 9.00ms",
		"response.p99 > 10ms":                  "",
		"response.p99 > +10%":                  "no such figure",
		"any response.p99 > 1ms":               "no such figure",
		"errors > 0":                           "errors 10",
		"errors > 10":                          "",
		"errors >= 1%":                         "errors 1%",
		"errors > 1%":                          "",
		"any errors > 1%":                      "fingerprint aaa: errors 1.11%",
		"errors > +1000%":                      "from 0 to 10",
		"any errors < 0%":                      "",
		"throughput < 50/s":                    "throughput 49.5/s",
		"throughput < -50%":                    "-50.5%, from 100/s to 49.5/s",
		"throughput < -51%":                    "",
		"run:before p50 > 99us":                "before: service.p50 100µs",
		"run:before p50 > +0%":                 "no such run",
		"run:after total p50 > 119us":          "after: service.p50",
		"run:other p50 > 1us":                  "no such run",
		"degraded":                             "",
		"any degraded":                         "after, fingerprint aaa is degraded",
		"fingerprint:bbb degraded":             "",
		"any incomparable":                     "fingerprint new is incomparable",
		"same":                                 "after is same",
		" run:after \t fingerprint:aaa   same": "",
	} {
		g, err := Parse(text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		got := g.Check(report())
		if got.Failed != (want != "") || !strings.Contains(strings.Join(got.Why, "\n"), want) {
			t.Errorf("%s: %+v, want %q", text, got, want)
		}
	}
}

func TestBadConditions(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "a condition is such as",
		"> 10ms":                    "a condition is such as",
		"any":                       "neither a verdict",
		"p99":                       "needs a comparison",
		"worse":                     "neither a verdict",
		"p98 > 10ms":                "no metric",
		"p99 > 10":                  "a duration such as 10ms",
		"p99 >":                     "a duration such as 10ms",
		"p99 > -10ms":               "a duration such as 10ms",
		"p99 > +10ms":               "a duration such as 10ms",
		"p99 > 10%":                 "has a sign",
		"p99 > +%":                  "a percentage",
		"p99 > +NaN%":               "a percentage",
		"p99 > +0x10%":              "a percentage",
		"errors > 1ms":              "a number such as 0",
		"errors > -1":               "a number such as 0",
		"errors > 101%":             "has a sign",
		"throughput < 10":           "a rate such as",
		"throughput < 1e999/s":      "a rate such as",
		"all p99 > 10ms":            "no scope",
		"fingerprint: p99 > 10ms":   "no scope",
		"any total p99 > 10ms":      "one scope too many",
		"run:a run:b p99 > 10ms":    "one run too many",
		"any fingerprint:a p99 > 1": "one scope too many",
		"p99 = 10ms":                "no scope",
		"p99 > > 10ms":              "a duration such as",
		"any degraded > 10ms":       "no metric",
	} {
		if g, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, g, err, want)
		}
	}
}

// What failed outright is worse than slow.
func TestErroredIsDegradedToo(t *testing.T) {
	r := report()
	r.Fingerprints[1].Runs[1].Change.Verdict = analyze.Errored
	g, _ := Parse("fingerprint:bbb degraded")
	if got := g.Check(r); !got.Failed {
		t.Errorf("%+v", got)
	}
}

// A gate on a comparison does not stand open because there is none.
func TestRunsThatCannotBeCompared(t *testing.T) {
	r := report()
	r.Comparisons[0].Why = []string{"after is not valid"}
	for text, want := range map[string]bool{"any degraded": true, "p50 > +1000%": true, "p50 > 1s": false, "errors > 99": false} {
		g, _ := Parse(text)
		if got := g.Check(r); got.Failed != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
	r.Runs, r.Comparisons = r.Runs[:1], nil
	for text, want := range map[string]bool{"any degraded": true, "p50 > +1000%": true, "p50 > 1s": false, "p50 > 1us": true} {
		g, _ := Parse(text)
		if got := g.Check(r); got.Failed != want {
			t.Errorf("one run, %s: %+v", text, got)
		}
	}
	if Check(nil, r) != true {
		t.Error("no condition fails")
	}
}

// Whatever the text, it is refused with a reason or can be tried, and what it
// says of itself means the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"any p99 > +10%", "run:a errors >= 1%", "fingerprint:aaa degraded", "throughput < 10/s", "response.p99.9>1h", "><=%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("no reason")
			}
			return
		}
		again, err := Parse(g.String())
		if err != nil {
			t.Fatalf("%q is refused as %q: %v", text, g.String(), err)
		}
		a, b := g.Check(report()), again.Check(report())
		if a.Failed != b.Failed || !slices.Equal(a.Why, b.Why) {
			t.Errorf("%q: %+v, and then %+v", text, a, b)
		}
	})
}
