package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func TestDrainPassesOnWhatItReads(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, in := range []io.Reader{bytes.NewReader(want), iotest.HalfReader(bytes.NewReader(want)), iotest.DataErrReader(bytes.NewReader(want))} {
		got, err := io.ReadAll(drained(t.Context(), in))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	broken := errors.New("broken")
	if _, err := io.ReadAll(drained(t.Context(), io.MultiReader(bytes.NewReader(want), iotest.ErrReader(broken)))); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// After a signal the end of the pipe may still come, and what comes is read;
// but it is not waited for longer than drainFor.
func TestDrainAfterASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signal := errors.New("interrupt signal received")
		ctx, stop := context.WithCancelCause(t.Context())
		r, w := io.Pipe()
		in := drained(ctx, r)
		stop(signal)
		go func() {
			time.Sleep(drainFor - time.Second)
			_, _ = w.Write([]byte("the end"))
		}()
		buf := make([]byte, 100)
		n, err := in.Read(buf)
		if string(buf[:n]) != "the end" || err != nil {
			t.Errorf("read %q, %v", buf[:n], err)
		}
		start := time.Now()
		if _, err := in.Read(buf); !errors.Is(err, signal) {
			t.Errorf("error %v", err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v", waited)
		}
		_ = w.Close() // lets the reading goroutine end
	})
}
