package capture

import (
	"fmt"
	"io"
	"testing"

	"github.com/retrace-db/retrace/trace"
)

// a round trip of pgbench in each of its modes.
var roundTrips = map[string]struct{ client, server []byte }{
	"simple": {
		msgs(query("SELECT abalance FROM pgbench_accounts WHERE aid = 123456;")),
		append(append(append(raw('T', "\x00\x01abalance\x00\x00\x00\x40\x0e\x00\x03\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00"),
			raw('D', "\x00\x01\x00\x00\x00\x010")...), raw('C', "SELECT 1\x00")...), raw('Z', "I")...),
	},
	"extended": {
		msgs(parse("", "SELECT abalance FROM pgbench_accounts WHERE aid = $1;"), bind("", "", "123456"), describe('P', ""), execute(""), syncMsg),
		append(append(append(append(append(raw('1', ""), raw('2', "")...),
			raw('T', "\x00\x01abalance\x00\x00\x00\x40\x0e\x00\x03\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00")...),
			raw('D', "\x00\x01\x00\x00\x00\x010")...), raw('C', "SELECT 1\x00")...), raw('Z', "I")...),
	},
	"prepared": {
		msgs(bind("", "P_0", "123456"), describe('P', ""), execute(""), syncMsg),
		append(append(append(append(raw('2', ""),
			raw('T', "\x00\x01abalance\x00\x00\x00\x40\x0e\x00\x03\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00")...),
			raw('D', "\x00\x01\x00\x00\x00\x010")...), raw('C', "SELECT 1\x00")...), raw('Z', "I")...),
	},
}

// bench is a recorder driven by hand, so that each part's cost can be told.
type bench struct {
	*Recorder
	taps []*tap
	now  int64
}

func newBench(t testing.TB, sessions int) *bench {
	r := bareRecorder(1 << 30)
	r.queue.step = creditStep
	b := &bench{Recorder: r, now: 1e18}
	r.options = RecorderOptions{Out: io.Discard, Header: trace.Header{Engine: "postgres"}, Flush: defaultFlush, Now: func() int64 { return b.now }}
	r.encoder = newEncoder(r)
	for range sessions {
		t := r.session(nil)
		t.client(script{}.startPacket(), b.tick())
		t.server(append(raw('R', "\x00\x00\x00\x00"), raw('Z', "I")...), b.tick())
		t.client(msgs(parse("P_0", "SELECT abalance FROM pgbench_accounts WHERE aid = $1;"), syncMsg), b.tick())
		t.server(append(raw('1', ""), raw('Z', "I")...), b.tick())
		b.taps = append(b.taps, t)
	}
	b.drain(true)
	return b
}

func (b *bench) tick() int64 { b.now += 1000; return b.now }

// trip is one round trip of each session.
func (b *bench) trip(client, server []byte) {
	for _, t := range b.taps {
		t.client(client, b.tick())
	}
	for _, t := range b.taps {
		t.server(server, b.tick())
	}
}

// Recording costs no allocation per message, neither in the tap nor in the encoder.
func TestNoAllocationPerMessage(t *testing.T) {
	for name, rt := range roundTrips {
		b := newBench(t, 8)
		for range 3000 { // until every buffer has its size
			b.trip(rt.client, rt.server)
			b.drain(false)
		}
		const trips = 20
		perRun := testing.AllocsPerRun(100, func() {
			for range trips {
				b.trip(rt.client, rt.server)
			}
			b.drain(false)
		})
		if perRun > 8*trips/50 {
			t.Errorf("%s: %.0f allocations in %d round trips", name, perRun, 8*trips)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	for name, rt := range roundTrips {
		for _, part := range []string{"paused", "tap", "all"} {
			b.Run(fmt.Sprintf("%s/%s", name, part), func(b *testing.B) {
				x := newBench(b, 8)
				x.off.Store(part == "paused")
				b.ReportAllocs()
				for b.Loop() {
					x.trip(rt.client, rt.server)
					if part != "all" {
						for i := range x.stripes {
							x.stripes[i].batch = x.stripes[i].batch.reset()
						}
					} else {
						x.drain(false)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*8), "ns/trip")
			})
		}
	}
}
