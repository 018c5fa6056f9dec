package replay

import (
	"errors"
	"io"
	"math"

	"github.com/retrace-db/retrace/trace"
)

// feed reads the trace as often as it is to be replayed. Each loop begins when the
// one before ended, and its sessions have ids of their own.
type feed struct {
	in    *trace.Reader
	again func(trace.ReadOptions) (*trace.Reader, error)
	loops int // how often, at least 1
	loop  int // from 0
	shift int64
}

func newFeed(in *trace.Reader, o *Options) *feed {
	return &feed{in: in, again: o.Again, loops: max(o.Loops, 1)}
}

// next reads a block; io.EOF at the end of each loop.
func (f *feed) next(b *trace.Batch) error {
	if err := f.in.Next(b); err != nil || f.loop == 0 {
		return err
	}
	for i := range b.Events {
		b.Events[i].Session = f.name(b.Events[i].Session)
		b.Events[i].Start += f.shift
	}
	for i := range b.Late {
		b.Late[i].Session = f.name(b.Late[i].Session)
	}
	for i := range b.States {
		b.States[i].Session = f.name(b.States[i].Session)
		b.States[i].Loop = f.loop
	}
	return nil
}

// name is what a session is called in this loop.
func (f *feed) name(session uint64) uint64 { return trace.LoopSession(session, f.loop) }

// origin is what the trace calls a session of this loop; a dry run has no loops.
func (f *feed) origin(session uint64) uint64 {
	if f == nil {
		return session
	}
	return trace.SourceSession(session, f.loop)
}

// more tells whether another loop follows.
func (f *feed) more() bool { return f.loop+1 < f.loops }

// rewind begins the next loop, whose first event is to stand that much later than
// it was recorded.
func (f *feed) rewind(shift int64) error {
	in, err := f.again(trace.ReadOptions{})
	if err != nil {
		return err
	}
	if f.loop > 0 {
		_ = f.in.Close() // was only read
	}
	f.in, f.shift = in, shift
	f.loop++
	return nil
}

// close closes what the feed opened; the first reader is its caller's.
func (f *feed) close() {
	if f.loop > 0 {
		_ = f.in.Close() // was only read
	}
}

// read reads a block.
func (src *source) read() error {
	err := src.feed.next(&src.batch)
	switch {
	case !errors.Is(err, io.EOF):
		src.pending = err == nil
		return err
	case src.feed.more():
		return src.turn()
	}
	src.atEnd = true
	return nil
}

// turn ends a loop: its sessions end with the trace, and the next loop begins.
func (src *source) turn() error {
	if err := src.closeAll(); err != nil {
		return err
	}
	end := max(src.horizon, src.lastEnd)
	for id, s := range src.live {
		if src.p.gate != nil {
			src.p.gate.add(mark{at: end, isEnd: true, end: end, session: s})
		}
		delete(src.live, id)
	}
	clear(src.states)
	return src.feed.rewind(end - src.first)
}

// closeAll tells the live sessions that nothing will follow.
func (src *source) closeAll() error {
	if src.merge != nil {
		if err := src.merge.pass(math.MaxInt64, src.deliver); err != nil {
			return err
		}
	}
	for _, s := range src.live {
		s.queue.close()
	}
	return nil
}
