package replay

import (
	"bytes"
	"testing"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// Of a part of a trace, the sessions open in it count, those that are silent too.
func TestPeakOfAPart(t *testing.T) {
	tp := newTape(t)
	silent := tp.session(0, nil)
	for n := range 5 { // one after the other
		at := time.Duration(n+1) * time.Minute
		s := tp.session(at, nil)
		s.query(at+time.Second, ms, "select 1")
		s.end(at + 30*time.Second)
		tp.check(tp.w.Flush())
	}
	silent.end(time.Hour)
	tp.check(tp.w.Close())
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{
		{0, 2 * time.Hour, 2},
		{100 * time.Second, 110 * time.Second, 1}, // nothing is recorded in it
		{121 * time.Second, 122 * time.Second, 2},
		{121 * time.Second, 200 * time.Second, 2},
	} {
		got, err := peak(func(o trace.ReadOptions) (*trace.Reader, error) {
			r := trace.NewReader(bytes.NewReader(tp.buf.Bytes()), "tape")
			o.From, o.To = tapeStart+int64(c.from), tapeStart+int64(c.to)
			r.Options(o)
			return r, nil
		})
		if err != nil || got != c.want {
			t.Errorf("%v to %v: %d, %v; want %d", c.from, c.to, got, err, c.want)
		}
	}
}
