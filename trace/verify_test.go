package trace

import (
	"bytes"
	"strings"
	"testing"
)

// scenario writes what a careless recorder might.
func scenario(t *testing.T, write func(w *Writer, id func(Op) uint32)) *Report {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Trace: traceID, Engine: "postgres"}, WriterOptions{})
	must(t, err)
	write(w, func(op Op) uint32 {
		id, err := w.Intern(op, 0, nil, nil)
		must(t, err)
		return id
	})
	must(t, w.Close())
	report, err := Verify(putFile(t, "x", out.Bytes()))
	must(t, err)
	return report
}

func TestVerify(t *testing.T) {
	event := func(w *Writer, id uint32, session, ordinal uint64) {
		must(t, w.Event(&Event{Session: session, Ordinal: ordinal, Shape: id, HasReply: true}))
	}
	for _, c := range []struct {
		name string
		want []string
		do   func(w *Writer, id func(Op) uint32)
	}{
		{"nothing", nil, func(*Writer, func(Op) uint32) {}},
		{"whole session", nil, func(w *Writer, id func(Op) uint32) {
			event(w, id(OpConnect), 1, 0)
			event(w, id(OpEnd), 1, 1)
		}},
		{"a hole", []string{"events 1 to 4 of session 1 are missing and no gap says so"}, func(w *Writer, id func(Op) uint32) {
			event(w, id(OpConnect), 1, 0)
			event(w, id(OpQuery), 1, 5)
		}},
		{"a hole with its gap", nil, func(w *Writer, id func(Op) uint32) {
			event(w, id(OpConnect), 1, 0)
			event(w, id(OpQuery), 1, 5)
			must(t, w.Flush())
			must(t, w.Gap(Gap{Session: 1, First: 1, Last: 4}))
		}},
		{"a gap before its hole", nil, func(w *Writer, id func(Op) uint32) {
			event(w, id(OpConnect), 1, 0)
			must(t, w.Gap(Gap{Session: 1, First: 1, Last: 4}))
			must(t, w.Flush())
			event(w, id(OpQuery), 1, 5)
		}},
		{"half a gap", []string{"events 3 to 4 of session 1 are missing"}, func(w *Writer, id func(Op) uint32) {
			event(w, id(OpConnect), 1, 0)
			event(w, id(OpQuery), 1, 5)
			must(t, w.Gap(Gap{Session: 1, First: 1, Last: 2}))
		}},
		{"from the middle without a state", []string{"events 0 to 6 of session 1 are missing"}, func(w *Writer, id func(Op) uint32) {
			event(w, id(OpQuery), 1, 7)
		}},
		{"from the middle with its state", nil, func(w *Writer, id func(Op) uint32) {
			must(t, w.State(&State{Session: 1, Ordinal: 7}))
			event(w, id(OpQuery), 1, 7)
		}},
		{"after the end", []string{"event 1 of session 1 comes after the session's end"}, func(w *Writer, id func(Op) uint32) {
			must(t, w.Event(&Event{Session: 1, Shape: id(OpEnd)}))
			must(t, w.Flush())
			event(w, id(OpQuery), 1, 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := scenario(t, c.do)
			if !report.Complete || len(report.Problems) != len(c.want) || report.OK() != (len(c.want) == 0) {
				t.Fatalf("problems %q, want %q", report.Problems, c.want)
			}
			for i := range c.want {
				if !strings.Contains(report.Problems[i], c.want[i]) {
					t.Errorf("problem %q, want %q", report.Problems[i], c.want[i])
				}
			}
		})
	}
}

// An unanswered event is no fault, and is counted.
func TestVerifyUnanswered(t *testing.T) {
	report := scenario(t, func(w *Writer, id func(Op) uint32) { must(t, w.Event(&Event{Session: 1, Shape: id(OpQuery)})) })
	if report.Unanswered != 1 || !report.OK() {
		t.Errorf("%+v", report)
	}
}

// A late reply to nothing and an index that lies are problems.
func TestVerifyForged(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{}, 3)
	at := blockAt(t, b, kindEvents, 1)
	h, err := parseHeader(b[at:])
	must(t, err)
	without := append(bytes.Clone(b[:at]), b[at+headerSize+int(h.stored):]...)
	report, err := Verify(putFile(t, "x", without))
	must(t, err)
	all := strings.Join(report.Problems, "\n")
	if report.OK() || !strings.Contains(all, "which does not wait for one") {
		t.Errorf("problems %q", report.Problems)
	}
	lying := bytes.Clone(b)
	put32(lying[at+12:], h.count) // unchanged
	lying = rehead(lying, blockAt(t, b, kindIndex, 0), func(_, body []byte) {
		i := bytes.IndexByte(body[9*directoryEntry:], 'E') // the kinds column
		body[9*directoryEntry+i] = 'D'
	})
	report, err = Verify(putFile(t, "x", lying))
	must(t, err)
	if report.OK() || !strings.Contains(strings.Join(report.Problems, "\n"), "does not list the block") {
		t.Errorf("problems %q", report.Problems)
	}
}

// Each kind of damage makes a trace not OK, with the place named.
func TestVerifyDamage(t *testing.T) {
	b := plain(t, Header{}, WriterOptions{}, 3)
	torn := b[:len(b)-100]
	flipped := bytes.Clone(b)
	flipped[blockAt(t, b, kindEvents, 1)+80] ^= 1
	noIndex := b[:blockAt(t, b, kindIndex, 0)]
	for name, c := range map[string]struct {
		body   []byte
		damage int
	}{"torn": {torn, 1}, "flipped": {flipped, 1}, "no index": {noIndex, 0}} {
		report, err := Verify(putFile(t, "x", c.body))
		must(t, err)
		if report.OK() || report.Complete || len(report.Damage) != c.damage {
			t.Errorf("%s: complete %v, damage %+v", name, report.Complete, report.Damage)
		}
		s, err := Info(putFile(t, "x", c.body))
		must(t, err)
		if s.Statements == 0 {
			t.Errorf("%s: info %+v", name, s)
		}
	}
}
