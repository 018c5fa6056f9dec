package main

import (
	"context"
	"io"
	"time"
)

// drainFor is how long the end of a pipe may take to come after a signal.
const drainFor = 10 * time.Second

// drained reads a pipe to its end, signal or not, but does not wait for ever
// once a signal has come.
func drained(ctx context.Context, in io.Reader) io.Reader {
	d := &drain{ctx: ctx, full: make(chan chunk, 2), empty: make(chan []byte, 2)}
	d.empty <- make([]byte, drainChunk)
	d.empty <- make([]byte, drainChunk)
	go d.fill(in)
	return d
}

const drainChunk = 256 << 10

type drain struct {
	ctx   context.Context
	full  chan chunk
	empty chan []byte
	now   chunk // what is left of the last chunk
	late  <-chan time.Time
}

type chunk struct {
	buf  []byte
	rest []byte
	err  error
}

// fill reads ahead. It ends with the input; one that never ends is left to the
// end of the process, since a blocked read cannot be called back.
func (d *drain) fill(in io.Reader) {
	for buf := range d.empty {
		n, err := in.Read(buf)
		d.full <- chunk{buf, buf[:n], err}
		if err != nil {
			return
		}
	}
}

func (d *drain) Read(p []byte) (int, error) {
	for len(d.now.rest) == 0 {
		if d.now.err != nil {
			return 0, d.now.err
		}
		d.wait()
	}
	n := copy(p, d.now.rest)
	d.now.rest = d.now.rest[n:]
	return n, nil
}

// wait gets the next chunk, or gives up.
func (d *drain) wait() {
	if d.now.buf != nil {
		d.empty <- d.now.buf
		d.now.buf = nil
	}
	done := d.ctx.Done()
	for {
		if d.late != nil {
			done = nil
		}
		select {
		case d.now = <-d.full:
			return
		case <-done:
			d.late = time.After(drainFor)
		case <-d.late:
			close(d.empty)
			d.now = chunk{err: context.Cause(d.ctx)}
			return
		}
	}
}
