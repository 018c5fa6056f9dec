package trace

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// selectOnly makes events such as pgbench -S -M prepared sends: 16 sessions
// that wait for each reply, 10 million keys, about 106 µs a reply.
func selectOnly(n int) (shape []byte, events []Event) {
	shape = preparedShape()
	rnd := rand.New(rand.NewPCG(1, 2))
	const sessions = 16
	now := [sessions]int64{}
	ordinal := [sessions]uint64{}
	for range n {
		s := 0
		for i := range now {
			if now[i] < now[s] {
				s = i
			}
		}
		took := int64(90e3 * math.Exp(0.4*rnd.NormFloat64()))
		key := strconv.AppendInt(nil, 1+rnd.Int64N(10_000_000), 10)
		events = append(events, Event{
			Session: 0x123456<<40 + uint64(s), Ordinal: ordinal[s], Start: 1_700_000_000_000_000_000 + now[s],
			Sizes: []uint64{SizeOf(len(key))}, Values: key, RequestEnd: true, HasReply: true,
			Reply: Reply{Took: took, Tail: 0, Rows: 1, Results: 1, Bytes: 60 + uint64(rnd.IntN(6)), State: 'I'},
		})
		ordinal[s]++
		now[s] += took + 8000 + int64(4000*rnd.ExpFloat64())
	}
	return shape, events
}

// preparedShape is Bind (one text parameter), Describe, Execute and Sync.
func preparedShape() []byte {
	var b []byte
	literal := func(s string) {
		b = append(append(b, tokenLiteral, byte(len(s))), s...)
	}
	b = append(b, tokenMessage, 'B')
	literal("\x00P_0\x00\x00\x00\x00\x01")
	b = append(b, tokenParam)
	literal("\x00\x00")
	b = append(b, tokenMessage, 'D')
	literal("P\x00")
	b = append(b, tokenMessage, 'E')
	literal("\x00\x00\x00\x00\x00")
	return append(b, tokenMessage, 'S')
}

func writeAll(tb testing.TB, out io.Writer, shape []byte, events []Event, split bool) *Writer {
	w, err := NewWriter(out, Header{Engine: "postgres", MadeBy: ByCapture, Started: "2023-11-14T22:13:20Z"}, WriterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range events {
		e := &events[i]
		id, err := w.Intern(OpExecute, 0, shape, nil)
		if err != nil {
			tb.Fatal(err)
		}
		e.Shape = id
		e.HasReply = !split
		err = w.Event(e)
		if err == nil && split {
			err = w.Reply(e.Session, e.Ordinal, &e.Reply, 0)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return w
}

func BenchmarkWrite(b *testing.B) {
	shape, events := selectOnly(200_000)
	for _, mode := range []struct {
		name  string
		split bool
	}{{"whole", false}, {"event+reply", true}} {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			var w *Writer
			for range b.N {
				w = writeAll(b, io.Discard, shape, events, mode.split)
			}
			rate(b, len(events))
			b.ReportMetric(float64(w.Totals().Bytes)/float64(len(events)), "bytes/statement")
		})
	}
}

func rate(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mstatements/s")
}

func benchmarkRead(b *testing.B, o ReadOptions) {
	shape, events := selectOnly(200_000)
	var out bytes.Buffer
	writeAll(b, &out, shape, events, false)
	var batch Batch
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		r := NewReader(bytes.NewReader(out.Bytes()), "bench")
		r.Options(o)
		n := 0
		for {
			err := r.Next(&batch)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			n += len(batch.Events)
		}
		if n != len(events) {
			b.Fatalf("%d events, wrote %d", n, len(events))
		}
		_ = r.Close()
	}
	rate(b, len(events))
}

func BenchmarkRead(b *testing.B)        { benchmarkRead(b, ReadOptions{}) }
func BenchmarkReadTimings(b *testing.B) { benchmarkRead(b, ReadOptions{NoValues: true}) }

func BenchmarkEach(b *testing.B) {
	shape, events := selectOnly(200_000)
	var out bytes.Buffer
	writeAll(b, &out, shape, events, false)
	b.ResetTimer()
	for range b.N {
		r := NewReader(bytes.NewReader(out.Bytes()), "bench")
		r.Options(ReadOptions{NoValues: true})
		sum := int64(0)
		if err := r.Each(func(e *Event) error { sum += e.Took; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, len(events))
}
