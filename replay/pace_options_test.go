package replay

import (
	"math"
	"testing"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// Every pace with everything that may be said beside it: what makes no sense
// together is refused, also where the pace comes from the trace.
func TestWhatGoesWithAPace(t *testing.T) {
	for _, c := range []struct {
		o      Options
		timing string // of the trace
		ok     bool
	}{
		{Options{}, trace.TimingOriginal, true},
		{Options{}, trace.TimingClosedLoop, true},
		{Options{Pace: "fast"}, "", false},

		{Options{Speed: 2}, trace.TimingOriginal, true},
		{Options{Speed: 2}, trace.TimingClosedLoop, false},
		{Options{Pace: PaceOriginal, Speed: 2}, "", true},
		{Options{Pace: PaceThink, Speed: 2}, "", true},
		{Options{Pace: PaceClosed, Speed: 2}, "", false},
		{Options{Pace: PaceRate, Rate: 100, Speed: 2}, "", false},

		{Options{Speed: -1}, trace.TimingOriginal, false},
		{Options{Pace: PaceThink, Speed: math.NaN()}, "", false},
		{Options{Pace: PaceOriginal, Speed: math.Inf(1)}, "", false},
		{Options{Pace: PaceOriginal, Speed: 1e-9}, "", true},
		{Options{Pace: PaceOriginal, Speed: 1e9}, "", true},

		{Options{MaxGap: time.Second}, trace.TimingOriginal, true},
		{Options{MaxGap: time.Second}, trace.TimingClosedLoop, false},
		{Options{Pace: PaceOriginal, MaxGap: time.Second, Speed: 2}, "", true},
		{Options{Pace: PaceThink, MaxGap: time.Second, Speed: 2}, "", true},
		{Options{Pace: PaceClosed, MaxGap: time.Second}, "", false},
		{Options{Pace: PaceRate, Rate: 100, MaxGap: time.Second}, "", false},
		{Options{Pace: PaceOriginal, MaxGap: -time.Second}, "", false},

		{Options{Pace: PaceRate}, "", false},
		{Options{Pace: PaceRate, Rate: 100}, trace.TimingClosedLoop, true},
		{Options{Pace: PaceRate, Rate: -100}, "", false},
		{Options{Pace: PaceRate, Rate: math.NaN()}, "", false},
		{Options{Pace: PaceRate, Rate: math.Inf(1)}, "", false},
		{Options{Rate: 100}, trace.TimingOriginal, false},
		{Options{Pace: PaceClosed, Rate: 100}, "", false},
	} {
		err := c.o.Validate()
		if err == nil {
			_, err = c.o.paceOf(&trace.Header{Timing: c.timing})
		}
		if (err == nil) != c.ok {
			t.Errorf("pace %q, speed %g, rate %g, timing %q: %v", c.o.Pace, c.o.Speed, c.o.Rate, c.timing, err)
		}
	}
}

func TestParsePace(t *testing.T) {
	for text, want := range map[string]float64{
		"rate=500": 500, "rate=500/s": 500, "rate=0.5/s": 0.5, "rate=30/min": 0.5, "rate=30/m": 0.5, "rate=1800/h": 0.5, "rate=1e4": 1e4,
		"original": 0, "think": 0, "closed": 0,
	} {
		name, rate, err := ParsePace(text)
		if err != nil || rate != want || (rate > 0) != (name == PaceRate) {
			t.Errorf("%s: %s, %g, %v", text, name, rate, err)
		}
	}
	for _, text := range []string{
		"", "fast", "rate", "rate=", "rate=0", "rate=-1", "rate=NaN", "rate=Inf", "rate=1e999", "rate=500/ms", "rate=500s", "rate=/s", "rate=5/s/s",
		"Original", "think=2", "rate 500", "rate=0x10",
	} {
		if name, rate, err := ParsePace(text); err == nil {
			t.Errorf("%q was taken for %s, %g", text, name, rate)
		}
	}
}
