package trace

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// Cut anywhere: the two parts have each event of the whole once, with its reply
// and by its name, and each is a whole trace.
func TestCutKeepsEveryEventOnce(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var out bytes.Buffer
		m.run(t, &out, traceID)
		at := rapid.Int64Range(1, 40).Draw(t, "at") * 100_000 * 1000
		if len(m.events) > 0 && rapid.Bool().Draw(t, "at an event") {
			id := rapid.SampledFrom(m.sessions).Draw(t, "session")
			at = max(1, rapid.SampledFrom(m.events[id]).Draw(t, "event").e.Start/m.tick*m.tick)
		}
		for name, open := range views(t, dir, out.Bytes()) {
			var parts []*collected
			for _, o := range []CutOptions{{To: at}, {From: at}} {
				var part bytes.Buffer
				_, err := Cut(open(), &part, o)
				if err != nil && !errors.Is(err, ErrNothing) {
					t.Fatalf("%s: %v", name, err)
				}
				c, err := collect(NewReader(bytes.NewReader(part.Bytes()), "part"))
				if err != nil || !c.whole {
					t.Fatalf("%s: a part is not whole: %v %v", name, err, c.damage)
				}
				c.gaps = m.given(c.gaps)
				parts = append(parts, c)
			}
			if err := m.checkParts(parts); err != nil {
				t.Fatalf("%s at %d: %v", name, at, err)
			}
		}
	})
}

// given leaves out the gaps that stand for the model's holes, which no gap
// explains.
func (m *model) given(gaps []Gap) []Gap {
	var given []Gap
	for _, g := range gaps {
		if g.Why != whyDamaged {
			given = append(given, g)
		}
	}
	return given
}

// A part says what it is part of, names its events as the whole does, and
// begins with the states of sessions that are there.
func TestCutSaysWhatItIs(t *testing.T) {
	_, b := rolled(t, 100, func() []State { return []State{{Session: 9, User: "u"}} })
	var out bytes.Buffer
	j, err := Cut(NewReader(bytes.NewReader(b), "whole"), &out, CutOptions{From: 50_000, To: 70_000, Sessions: []uint64{9}})
	must(t, err)
	if j.Events != 20 || j.LostEvents != 0 || !j.Complete {
		t.Errorf("%+v", j)
	}
	r := NewReader(bytes.NewReader(out.Bytes()), "part")
	h := r.Header()
	if h.Cut == nil || h.Cut.Of != traceID || h.Cut.From != "1970-01-01T00:00:00.00005Z" || h.Cut.To != "1970-01-01T00:00:00.00007Z" ||
		len(h.Cut.Sessions) != 1 || h.Trace == traceID || h.Segment != 0 {
		t.Errorf("header %+v, cut %+v", h, h.Cut)
	}
	c, err := collect(r)
	must(t, err)
	if len(c.states) != 1 || c.states[0].Ordinal != 50 || c.states[0].User != "u" || c.events[9][0].Ordinal != 50 || len(c.gaps) != 0 {
		t.Errorf("states %+v, first event %d, gaps %v", c.states, c.events[9][0].Ordinal, c.gaps)
	}
	if _, err := Cut(NewReader(bytes.NewReader(b), "whole"), &out, CutOptions{From: 1e18}); !errors.Is(err, ErrNothing) {
		t.Errorf("a part after the end: %v", err)
	}
}
