package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// The same thing is said once in a while, not each time; what peers send cannot
// draw on the terminal.
func TestTalkSaysThingsOnce(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	log := slog.New(&talk{to: &out, clock: func() time.Time { return now }})
	for range 5 {
		log.Info("refused a connection", "client", "192.0.2.1:5", "reason", errors.New("not \x1b[31mred"))
	}
	log.Warn("something else")
	now = now.Add(talkEvery)
	log.Info("refused a connection", "client", "192.0.2.2:5", "reason", "tls")
	want := `capture: refused a connection, client 192.0.2.1:5: not \x1b[31mred
capture: something else
capture: refused a connection, client 192.0.2.2:5: tls (and 4 more before)
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReasonsOfGaps(t *testing.T) {
	gaps := gapsBecause("b", "a", "b", "c", "d", "c", "b")
	if got, want := reasons(gaps), "b, c, a, 1 more reasons"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := reasons(gapsBecause("only")); got != "only" {
		t.Errorf("got %q", got)
	}
}

func TestRateIsOfTheTimeBetween(t *testing.T) {
	var r rate
	at := time.Unix(100, 0)
	var got []string
	for i, count := range []uint64{0, 500, 1000, 1000} {
		got = append(got, strings.Repeat("x", int(r.of(count, at.Add(time.Duration(i)*time.Second))/100)))
	}
	if want := "|xxxxx|xxxxx|"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func gapsBecause(whys ...string) (gaps []trace.Gap) {
	for _, why := range whys {
		gaps = append(gaps, trace.Gap{Why: why})
	}
	return gaps
}
