package capture

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
	"github.com/retrace-db/retrace/trace/filter"
)

// RecorderOptions say where a recording goes. Zero values are usable but for Out.
type RecorderOptions struct {
	Out        io.Writer
	Rotate     Rotate         // when to go on in another file
	Header     trace.Header   // Source is completed with the server's settings
	QueueBytes int64          // room between the sessions and the encoder; default 16 MiB
	EventBytes int            // of one event's bytes that are kept; default pg's
	Checksums  bool           // record the checksums of results
	Flush      time.Duration  // how often the trace is brought up to date; default 0.9 s
	Paused     bool           // record nothing before Start
	Sample     float64        // share of sessions to record; 0 means all
	Only       *filter.Filter // what to record; nil means all. It must not ask for replies
	Trouble    chan<- error   // told why the trace cannot be written, and nil once it can; never waited for
	Now        func() int64   // ns since the Unix epoch, never stepping
}

const (
	defaultQueue = 16 << 20
	defaultFlush = 900 * time.Millisecond // a second, with what a busy machine needs on top
	// drainEvery is how long rows wait for the encoder. Waking it for each
	// costs more than everything it does with it.
	drainEvery = 20 * time.Millisecond
	// restEvery is the same when there is nothing to do.
	restEvery = 100 * time.Millisecond
)

// Recorder turns the traffic of any number of sessions into one trace.
type Recorder struct {
	options RecorderOptions
	stripes [stripes]stripe
	queue   queue
	ids     uint64 // random upper bits of session ids
	last    atomic.Uint64
	faults  atomic.Int64
	broken  atomic.Bool // the trace cannot be written at the moment
	waiting atomic.Int64
	server  atomic.Pointer[map[string]string]

	off     atomic.Bool  // sessions are followed, not recorded
	starts  atomic.Int64 // how often it was switched on in between
	leftOut leftOut
	orders  chan func() // for the encoder's goroutine

	encoder *encoder
	stop    chan struct{}
	done    chan struct{}

	mu       sync.Mutex
	snapshot Recorded
	err      error
}

// NewRecorder starts to record. Nothing is written before a first session has
// logged in, because the start of a trace names the server's version.
func NewRecorder(o RecorderOptions) *Recorder {
	if o.QueueBytes <= 0 {
		o.QueueBytes = defaultQueue
	}
	if o.Flush <= 0 {
		o.Flush = defaultFlush
	}
	if o.Now == nil {
		o.Now = clock.NewTimers().Now
	}
	r := &Recorder{options: o, ids: randomBits(), orders: make(chan func()), stop: make(chan struct{}), done: make(chan struct{})}
	r.off.Store(o.Paused)
	r.queue.limit = o.QueueBytes
	r.queue.step = min(creditStep, o.QueueBytes/(8*stripes))
	r.encoder = newEncoder(r)
	go r.run()
	return r
}

// randomBits makes session ids of different recorders differ, so that merging
// traces never renumbers.
func randomBits() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:]) << counterBits
}

const counterBits = 40

// session begins the recording of a connection.
func (r *Recorder) session(onKey func(pid uint32, key []byte)) *tap {
	n := r.last.Add(1)
	t := &tap{
		recorder: r, stripe: &r.stripes[n%stripes], onKey: onKey,
		life: &life{id: r.ids | n&(1<<counterBits-1)},
	}
	if !sampled(t.life.id, r.options.Sample) {
		t.unwanted = whySample
	}
	t.conv = pg.NewConversation(t, pg.Options{Limit: r.options.EventBytes, Checksum: r.options.Checksums})
	return t
}

// cancel records a cancel request, a session of its own with one event.
func (r *Recorder) cancel(target, ordinal uint64, start, done int64) {
	t := r.session(nil)
	t.put(row{kind: rowCancel, size: target, prepare: ordinal, at: start, done: done}, nil)
	t.put(row{kind: rowEnded, at: done}, nil)
}

// pressure tells the sessions how much room is left.
func (r *Recorder) pressure() pressure {
	if r.broken.Load() {
		return crowded
	}
	switch n, limit := r.queue.used.Load(), r.queue.limit; {
	case n < limit*3/8:
		return relaxed
	case n < limit/2:
		return easy
	case n < limit*3/4:
		return busy
	case n < limit:
		return crowded
	}
	return full
}

// The reasons of gaps.
const (
	whyBehind     = "recorder fell behind"
	whyUnwritable = "trace could not be written"
)

func (r *Recorder) why() string {
	if r.broken.Load() {
		return whyUnwritable
	}
	return whyBehind
}

// knowsServer tells whether the server's settings are known already.
func (r *Recorder) knowsServer() bool { return r.server.Load() != nil }

// login notes that a session has logged in, with what the server said of itself.
func (r *Recorder) login(settings map[string]string) {
	if len(settings) > 0 {
		r.server.CompareAndSwap(nil, &settings)
	}
}

// run is the encoder's goroutine.
func (r *Recorder) run() {
	defer close(r.done)
	wait := time.NewTimer(drainEvery)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
			pause := restEvery
			if r.drain(false) {
				pause = drainEvery
			}
			wait.Reset(pause)
		case do := <-r.orders:
			do()
		case <-r.stop:
			r.drain(true)
			r.encoder.close()
			r.publish()
			return
		}
	}
}

// drain gives the encoder what the stripes hold, and tells whether that was
// anything.
func (r *Recorder) drain(last bool) (worked bool) {
	if !last && !r.encoder.waiting && !r.encoder.begun() && !r.mayBegin() {
		return false
	}
	for i := range r.stripes {
		s := &r.stripes[i]
		if s.empty() {
			continue
		}
		b := s.take(r.encoder.spare)
		r.encoder.batch(b.rows)
		r.queue.used.Add(-b.credit)
		r.encoder.spare = b.reset()
		worked = true
	}
	r.encoder.tick(r.options.Now())
	r.publish()
	return worked
}

// mayBegin: the trace can start, because a server has introduced itself or
// because what is queued cannot wait any longer.
func (r *Recorder) mayBegin() bool {
	if r.knowsServer() {
		return true
	}
	if r.queue.used.Load() == 0 {
		return false
	}
	now := r.options.Now()
	if r.waiting.Load() == 0 {
		r.waiting.Store(now)
	}
	return now-r.waiting.Load() > int64(r.options.Flush)/2
}

// Close writes what is left and ends the trace. All sessions must have ended.
func (r *Recorder) Close() error {
	close(r.stop)
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
