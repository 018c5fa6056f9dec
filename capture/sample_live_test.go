package capture

import (
	"testing"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// Of a sample there are whole sessions, chosen by their ids, and the rest is
// counted.
func TestSample(t *testing.T) {
	server := dbtest.Postgres15(t)
	rec := newRecording(t, func(o *RecorderOptions) { o.Sample = 0.5; o.Checksums = true })
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	const sessions, asks = 40, 3
	for range sessions {
		c := login(t, proxy)
		c.send(msgs(parse("p", "select 1"), syncMsg))
		c.wait("Z")
		for range asks - 1 {
			c.ask("select 'x'")
		}
		c.send(msgs(terminate))
		c.wait("$")
	}
	stop()
	events, gaps := rec.events()
	if n := len(events); n == 0 || n == sessions {
		t.Fatalf("%d of %d sessions", n, sessions) // by chance once in 2^39
	}
	const each = 1 + asks + 1
	for id, s := range events {
		if len(s) != each || !sampled(id, 0.5) {
			t.Errorf("session %x: %d events", id, len(s))
		}
	}
	left := uint64(sessions - len(events))
	r := rec.Recorded()
	if len(r.LeftOut) != 1 || r.LeftOut[0] != (LeftOut{whySample, left, left * each}) || r.Totals.Gaps != 0 {
		t.Errorf("%d sessions recorded, left out %+v", len(events), r.LeftOut)
	}
	if len(gaps) != 1 || gaps[0].Session != 0 || gaps[0].Events() != left*each || !gaps[0].LeftOut {
		t.Errorf("gaps %+v", gaps)
	}
}

func TestSampledShare(t *testing.T) {
	for _, share := range []float64{0.001, 0.1, 0.5, 0.999} {
		n := 0
		const of = 200_000
		for id := range uint64(of) {
			if sampled(7<<counterBits|id, share) {
				n++
			}
		}
		if got := float64(n) / of; got < share-0.005 || got > share+0.005 {
			t.Errorf("share %g: %g", share, got)
		}
	}
	if !sampled(1, 0) || !sampled(1, 1) {
		t.Error("all are wanted")
	}
}
