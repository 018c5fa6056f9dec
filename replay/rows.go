package replay

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// row is what a session hands to the run.
type row struct {
	kind rowKind
	last bool // of its request
	op   trace.Op

	session, ordinal uint64
	start, due       int64
	entry            *trace.Entry
	diverged         trace.Diverged
	reply            trace.Reply
	state            *trace.State
}

type rowKind byte

const (
	rowEvent rowKind = iota // an event with its reply
	rowOpen                 // an event whose reply will follow
	rowReply                // that reply
	rowState                // a session begins
	rowEnd                  // a session is over
)

// maxRows is how many rows a stripe holds before its sessions wait for the
// writer: unlike a recorder, a replay may be held up.
const maxRows = 8192

// rowsWanted is how many rows are worth waking the writer for.
const rowsWanted = 2048

// runWriter turns rows into a trace on a goroutine of its own.
type runWriter struct {
	account   *account
	out       *trace.Writer
	scheduled bool

	wake  chan struct{}
	stop  chan struct{}
	done  sync.WaitGroup
	space *sync.Cond // a stripe was emptied

	mu       sync.Mutex
	live     map[uint64]*trace.State
	failed   error
	finished bool
}

const (
	rowsEvery  = 50 * time.Millisecond
	flushEvery = time.Second
)

// newRunWriter begins the run's trace.
func newRunWriter(w io.Writer, h trace.Header, a *account, o trace.WriterOptions) (*runWriter, error) {
	r := &runWriter{account: a, scheduled: o.Due, wake: make(chan struct{}, 1), stop: make(chan struct{}), live: map[uint64]*trace.State{}}
	r.space = sync.NewCond(&r.mu)
	o.Diverged, o.NoValues, o.States = true, true, r.states
	out, err := trace.NewWriter(w, h, o)
	if err != nil {
		return nil, fmt.Errorf("write the run: %w", err)
	}
	r.out = out
	r.done.Go(r.loop)
	return r, nil
}

// states lists the live sessions for a new segment; the loop's goroutine calls it.
func (r *runWriter) states() []trace.State {
	var all []trace.State
	for _, s := range r.live {
		all = append(all, *s)
	}
	return all
}

// add takes a row of a stripe whose lock is held; it lets go of it while there
// is no space.
func (r *runWriter) add(s *stripe, row row) {
	for len(s.rows) >= maxRows && !r.waitForSpace(s) {
	}
	s.rows = append(s.rows, row)
	if len(s.rows) == rowsWanted {
		r.notify()
	}
}

// waitForSpace waits, and tells whether there is no point in waiting again.
func (r *runWriter) waitForSpace(s *stripe) (pointless bool) {
	s.mu.Unlock()
	r.notify()
	r.mu.Lock()
	if !r.finished {
		r.space.Wait()
	}
	pointless = r.finished
	r.mu.Unlock()
	s.mu.Lock()
	return pointless
}

func (r *runWriter) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *runWriter) loop() {
	tick := time.NewTicker(rowsEvery)
	defer tick.Stop()
	var rows []row
	flushed := time.Now()
	for stopped := false; !stopped; {
		select {
		case <-tick.C:
		case <-r.wake:
		case <-r.stop:
			stopped = true
		}
		for i := range r.account.stripe {
			rows = r.drain(&r.account.stripe[i], rows)
		}
		if time.Since(flushed) >= flushEvery {
			flushed = time.Now()
			r.fail(r.out.Flush())
		}
	}
	r.fail(r.out.Close())
	r.mu.Lock()
	r.finished = true
	r.space.Broadcast()
	r.mu.Unlock()
}

// drain writes what a stripe holds. rows is an empty buffer that changes places
// with the stripe's.
func (r *runWriter) drain(s *stripe, rows []row) []row {
	s.mu.Lock()
	s.rows, rows = rows[:0], s.rows
	s.mu.Unlock()
	r.mu.Lock()
	r.space.Broadcast()
	r.mu.Unlock()
	for i := range rows {
		if r.failed == nil {
			r.fail(r.write(&rows[i]))
		}
	}
	clear(rows)
	return rows[:0]
}

func (r *runWriter) write(row *row) error {
	switch row.kind {
	case rowState:
		r.live[row.session] = row.state
		return r.out.State(row.state)
	case rowEnd:
		delete(r.live, row.session)
		r.out.EndSession(row.session)
		return nil
	case rowReply:
		return r.out.Reply(row.session, row.ordinal, &row.reply, 0)
	}
	id, err := r.out.InternEntry(row.entry)
	if err != nil {
		return err
	}
	return r.out.Event(&trace.Event{
		Session: row.session, Ordinal: row.ordinal, Start: row.start, Shape: id,
		RequestEnd: row.last, HasReply: row.kind == rowEvent, Reply: row.reply,
		HasDue: r.scheduled && row.due != 0, Due: row.due, Diverged: row.diverged,
	})
}

// fail keeps the first error.
func (r *runWriter) fail(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = fmt.Errorf("write the run: %w", err)
	}
}

// err is the first error, or nil.
func (r *runWriter) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// close writes what is left. No session may add rows any more.
func (r *runWriter) close() error {
	close(r.stop)
	r.done.Wait()
	return r.err()
}
