package sim

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFreeze(t *testing.T) {
	var one, many Freeze
	if one.UnmarshalText([]byte("2s@10s")) != nil || many.UnmarshalText([]byte("1s@5s/10s")) != nil {
		t.Fatal("not read")
	}
	s := time.Second
	for _, c := range []struct {
		f                 Freeze
		start, work, want time.Duration
	}{
		{Freeze{}, 3 * s, s, 4 * s},
		{one, 3 * s, s, 4 * s},
		{one, 9 * s, 3 * s, 14 * s},
		{one, 11 * s, 0, 12 * s},
		{one, 11 * s, s, 13 * s},
		{one, 12 * s, s, 13 * s},
		{one, 9 * s, s, 12 * s}, // done at the moment it begins: too late
		{many, 0, 4 * s, 4 * s},
		{many, 0, 20 * s, 22 * s},
		{many, 15500 * time.Millisecond, 0, 16 * s},
	} {
		if got := c.f.end(c.start, c.work); got != c.want {
			t.Errorf("%v: from %s, %s of work is done at %s, want %s", c.f, c.start, c.work, got, c.want)
		}
	}
	for _, text := range []string{"", "2s", "2s@", "@1s", "-1s@1s", "2s@1s/2s", "2s@1s/x"} {
		if (&Freeze{}).UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is taken for a freeze", text)
		}
	}
}

// Against counting tick by tick.
func TestFreezeIsWhatAClockThatStopsShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tick := time.Millisecond
		span := func(name string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * tick
		}
		f := Freeze{For: span("for", 1, 20), At: span("at", 0, 50)}
		if rapid.Bool().Draw(t, "again") {
			f.Every = f.For + span("between", 1, 30)
		}
		still := func(at time.Duration) bool {
			since := at - f.At
			if f.Every > 0 && since > 0 {
				since %= f.Every
			}
			return since >= 0 && since < f.For
		}
		start, work := span("start", 0, 100), span("work", 0, 100)
		at := start
		for left := work; ; at += tick {
			if still(at) {
				continue
			}
			if left == 0 {
				break
			}
			left -= tick
		}
		if got := f.end(start, work); got != at {
			t.Fatalf("%v: from %s, %s of work: %s, want %s", f, start, work, got, at)
		}
	})
}
