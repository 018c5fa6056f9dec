package trace

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"
)

// Taking an event and its reply allocates nothing once buffers have grown.
func TestWriterDoesNotAllocate(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{Engine: "postgres"}, WriterOptions{})
	must(t, err)
	shape, events := selectOnly(30_000)
	given := 0
	round := func() {
		for i := range events {
			e := events[i]
			e.Ordinal += uint64(given) * uint64(len(events))
			id, err := w.Intern(OpExecute, 0, shape, nil)
			if err == nil {
				e.Shape, e.HasReply = id, i%2 == 0
				err = w.Event(&e)
			}
			if err == nil && !e.HasReply {
				err = w.Reply(e.Session, e.Ordinal, &e.Reply, 0)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		given++
	}
	round()
	round()
	if n := testing.AllocsPerRun(5, round); n > 100 {
		t.Errorf("%.0f allocations for %d events", n, len(events))
	}
}

// Neither does reading them.
func TestReaderDoesNotAllocate(t *testing.T) {
	shape, events := selectOnly(60_000)
	var out bytes.Buffer
	writeAll(t, &out, shape, events, true)
	r := NewReader(bytes.NewReader(out.Bytes()), "x")
	var b Batch
	for range 3 {
		must(t, r.Next(&b))
	}
	blocks := 0
	n := testing.AllocsPerRun(1, func() {
		for range 3 {
			if err := r.Next(&b); err != nil {
				t.Fatal(err)
			}
			blocks++
		}
	})
	// The race detector makes pools forget, so a few per block are allowed.
	if blocks != 6 || n > 100 {
		t.Errorf("%.0f allocations for %d blocks of some 6,000 events", n, blocks)
	}
}

// A trace ten times as long takes no more memory, to write or to read.
func TestMemoryIsFlat(t *testing.T) {
	use := func(rounds int) (written, read uint64) {
		shape, events := selectOnly(20_000)
		in, out := io.Pipe()
		done := make(chan uint64, 1)
		go func() { // nothing ever holds the whole
			w, err := NewWriter(out, Header{Engine: "postgres"}, WriterOptions{})
			if err == nil {
				err = feed(w, shape, events, rounds)
			}
			done <- heap()
			runtime.KeepAlive(w)
			_ = out.CloseWithError(err)
		}()
		r := NewReader(in, "x")
		var b Batch
		for {
			if err := r.Next(&b); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		read = heap()
		runtime.KeepAlive(r)
		return <-done, read
	}
	w2, r2 := use(2)
	w20, r20 := use(20)
	if w20 > w2+w2/10+1<<18 || r20 > r2+r2/10+1<<18 {
		t.Errorf("heap after 40,000 events: %d writing, %d reading; after 400,000: %d, %d", w2, r2, w20, r20)
	}
}

func feed(w *Writer, shape []byte, events []Event, rounds int) error {
	for k := range rounds {
		for i := range events {
			e := events[i]
			e.Ordinal += uint64(k) * uint64(len(events))
			e.Start += int64(k) * 1e10
			id, err := w.Intern(OpExecute, 0, shape, nil)
			if err != nil {
				return err
			}
			e.Shape = id
			if err := w.Event(&e); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Sessions that come and go leave nothing behind.
func TestSessionsAreForgotten(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{Engine: "postgres"}, WriterOptions{})
	must(t, err)
	for i := range uint64(50_000) {
		end, err := w.Intern(OpEnd, 0, nil, nil)
		must(t, err)
		query, err := w.Intern(OpQuery, 0, nil, nil)
		must(t, err)
		must(t, w.Event(&Event{Session: i, Shape: query}))
		must(t, w.Event(&Event{Session: i, Ordinal: 1, Shape: end, HasReply: true}))
		if i%3 == 0 {
			must(t, w.Flush())
		}
		must(t, w.Reply(i, 0, &Reply{}, 0))
	}
	must(t, w.Flush())
	if n := len(w.sessions); n != 0 {
		t.Errorf("%d sessions are remembered", n)
	}
	if n := w.Totals().Sessions; n != 50_000 {
		t.Errorf("%d sessions counted", n)
	}
}
