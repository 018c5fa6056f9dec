package trace

import "testing"

// Whether an event waited for a reply can be told from ticks, whatever they
// round away. The table has times in ns and ticks of 1000.
func TestCausality(t *testing.T) {
	type step struct {
		reply   uint64 // of this ordinal, took in at; else an event
		isReply bool
		at      int64
		want    int64 // start in ticks, or took
	}
	event := func(at, want int64) step { return step{at: at, want: want} }
	reply := func(o uint64, took, want int64) step { return step{reply: o, isReply: true, at: took, want: want} }
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"waited, same tick", []step{event(1000, 1), reply(0, 500, 0), event(1600, 1)}},
		{"pipelined, same tick", []step{event(1000, 1), event(1100, 1), reply(0, 500, 1), event(1700, 2)}},
		{"pipelined, same instant", []step{event(1000, 1), event(1100, 1), reply(0, 100, 1)}},
		{"waited, same instant", []step{event(1000, 1), reply(0, 100, 0), event(1100, 1)}},
		{"the request began before the reply, was whole after it", []step{event(1000, 1), reply(0, 9000, 9), event(5000, 5)}},
		{"the same within a tick", []step{event(1000, 1), reply(0, 2900, 2), event(3500, 2), event(3600, 2)}},
		{"the same within the reply's tick", []step{event(1000, 1), reply(0, 2900, 2), event(3100, 2)}},
		{"a reply that was read before a request, booked after it", []step{event(1000, 1), event(9000, 9), reply(0, 3000, 3)}},
		{"times do not run backwards", []step{event(9000, 9), event(2000, 9)}},
		{"negative duration", []step{event(9000, 9), reply(0, -5, 0)}},
		{"before 1970", []step{event(-1500, -2), reply(0, 600, 1), event(-900, -1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &session{head: -1, tail: -1}
			for i, st := range c.steps {
				if !st.isReply {
					start := s.begin(st.at, 1000)
					if start != st.want {
						t.Fatalf("step %d: start %d, want %d", i, start, st.want)
					}
					s.ordinal = uint64(len(s.pending))
					s.wait(pending{ordinal: s.ordinal, startNS: st.at, start: start})
					continue
				}
				p := s.pending[st.reply]
				if took := s.finish(&p, st.at, 1000); took != st.want {
					t.Fatalf("step %d: took %d, want %d", i, took, st.want)
				}
			}
		})
	}
}

// A session that never stops pipelining does not grow its list of pending events.
func TestPendingIsCompacted(t *testing.T) {
	s := &session{}
	s.wait(pending{ordinal: 0})
	for i := range uint64(100_000) {
		s.wait(pending{ordinal: i + 1})
		if _, ok := s.answer(i); !ok {
			t.Fatal("not pending")
		}
	}
	if cap(s.pending) > 1024 || len(s.waiting()) != 1 {
		t.Errorf("%d kept for %d pending", cap(s.pending), len(s.waiting()))
	}
	if _, ok := s.answer(5); ok {
		t.Error("answered twice")
	}
}
