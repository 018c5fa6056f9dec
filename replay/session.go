package replay

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/retrace-db/retrace/internal/wire/pg"
	"github.com/retrace-db/retrace/trace"
)

const (
	minRead = 4 << 10  // of a session's read buffer, which grows where replies are large
	maxRead = 64 << 10 // and up to this
	// maxWrite is how many bytes of a request go out at once. A request may be
	// a pipeline of any length.
	maxWrite = 1 << 20
)

// session is one captured session and the connection that replays it. The
// reader and the player each have fields of their own; the queue is between.
type session struct {
	id    uint64
	p     *player
	state *trace.State // what it began with; nil where that is not known
	early bool         // it was open when the recording began

	// The reader's. captured is final once the queue is closed.
	queue      queue
	want       want
	waits      waits
	captured   counts
	lastRead   uint64
	lastEnd    int64         // of the latest recorded reply
	lastStart  int64         // of the latest event, or when it began
	midRequest bool          // of the request under way something is to be sent
	unanswered int           // events whose reply is not read yet
	loop       int           // it is of
	order      int64         // of what a merge was given last
	tail       atomic.Int64  // recorded time of the latest that was sent or received
	epoch      atomic.Uint32 // of the entries it uses
	extent     extent
	omission   omission
	cut        bool     // in a transaction that has no beginning in the trace
	sets       [][]byte // settings that it commits

	// The gate's.
	needs, end int
	numbered   bool
	over       int64 // when it was over in the replay, 0 before
	delay      int64 // recorded, from the last of the ends it needs to its beginning

	turn turn // the order's

	// The player's.
	line      line                        // under mu, since others poke it
	conn      net.Conn                    // until a loop takes it over
	connected bool                        // or was
	shoot     func(context.Context) error // sends a cancel request
	talk      *pg.Conversation
	ring      ring
	copying   *flight // a COPY whose data are being sent, taken out of the ring
	batch     []staged
	out, in   []byte
	unread    int    // bytes sent since nothing was outstanding
	free      int64  // when the last reply that was waited for was complete
	heard     int64  // when the last reply came, waited for or not
	sent      int64  // when the last request went out
	waited    uint64 // events with a smaller ordinal were waited for before that
	was       byte   // recorded transaction state at this point
	counts    counts
	prepared  prepared
	reprepare [][]byte // Parse messages to send before the request
	aims      []aim
	attempt   attempt
	unsynced  bool   // after an error, the server would wait for a Sync
	unflushed uint64 // first event whose reply nothing has asked for yet; see answerable
	losing    string

	// Once set, nothing is sent any more.
	dead   string
	status trace.Status

	mu    sync.Mutex
	grace atomic.Int64 // when outstanding replies are given up, 0 for never
}

func newSession(p *player, id uint64, state *trace.State) *session {
	s := &session{id: id, p: p, state: state, line: newThreadLine(p.clock), unflushed: noOrdinal}
	s.queue.spill, s.queue.source, s.queue.wake = &p.spill, p.source, s.poke
	s.epoch.Store(p.source.entries.epoch)
	s.turn = turn{wake: s.poke, spot: -1}
	if state != nil && len(state.Transaction) > 0 {
		s.extent.began(state.Transaction)
		s.was = map[string]byte{"idle": 'I', "open": 'T', "failed": 'E'}[state.Transaction]
	}
	return s
}

// unplayable tells whether a session spoke the replication protocol, where
// nothing is a request that could be sent again.
func unplayable(state *trace.State) bool {
	if state == nil {
		return false
	}
	switch strings.ToLower(state.Settings["replication"]) {
	case "", "0", "false", "off", "no", "f", "n":
		return false
	}
	return true
}

// oldestEpoch is the first epoch of entries that the session may still ask for.
func (s *session) oldestEpoch(newest uint32) uint32 {
	if s.queue.consumed() {
		return newest
	}
	return s.epoch.Load()
}

// enter replays the session up to the moment when it has its connection, and
// tells whether that can be played on by a loop.
func (s *session) enter() {
	if s.early {
		s.ensure()
		s.p.opening.Done()
		<-s.p.started
		return
	}
	var r record
	for s.peek(&r) && r.kind != kindEvent {
		s.consume(&r)
		s.special(&r)
	}
	switch {
	case r.kind != kindEvent:
	case r.op == trace.OpConnect:
		s.consume(&r)
		s.connect(&r)
	case s.awaitDue(s.heard):
		s.ensure()
	}
}

// play replays the session to its last record.
func (s *session) play() {
	defer s.finish()
	var r record
	for s.peek(&r) {
		s.consume(&r)
		switch {
		case r.kind != kindEvent:
			s.special(&r)
		case r.op == trace.OpConnect:
			s.connect(&r)
		case r.op == trace.OpEnd:
			s.flush()
			s.terminate(&r)
		default:
			s.stage(&r)
			if r.flags&flagRequestEnd != 0 || len(s.out) >= maxWrite {
				s.flush()
			}
		}
	}
	if len(s.batch) > 0 { // a request in whose middle the trace ends: nothing would be answered
		if s.dead == "" && s.p.phase() == running {
			s.landed()
			s.die(trace.Unsent, reasonCut)
		}
		s.leave(0)
		s.unstage()
	}
}

// special takes a record that is no event of the session's own.
func (s *session) special(r *record) {
	switch r.kind {
	case kindLate:
		s.recorded(r)
	case kindRestore:
		s.restored(r.bytes)
	default:
		s.aim(r)
	}
}

// pause is how long the client had been silent at a recorded time, since it had
// sent or received something. The reader asks.
func (s *session) pause(at int64) int64 {
	return max(at-max(s.lastStart, s.waits.end), 0)
}

// runs takes more or fewer events that have no reply yet, and tells whether the
// session has something running since then (1), no longer (-1), or as before (0).
func (s *session) runs(more int) int {
	was := s.unanswered > 0
	s.unanswered += more
	switch is := s.unanswered > 0; {
	case is == was:
		return 0
	case is:
		return 1
	}
	return -1
}

// peek finds the next record, waiting for it if need be; false at the end. Its
// bytes are valid until the next peek.
func (s *session) peek(r *record) bool {
	for {
		have, err := s.queue.peek(r)
		switch {
		case err != nil:
			s.p.fail(err)
			*r = record{}
			return false
		case have == ready:
			return true
		case have == ended:
			*r = record{}
			return false
		}
		s.awaitRecord()
	}
}

// consume takes the record that was found off the queue. Its entry is looked up
// before: once the queue is consumed, old entries may be let go.
func (s *session) consume(r *record) {
	if r.kind != kindLate && r.kind != kindRestore {
		r.entry = s.p.source.entries.entry(r.shape)
		if r.shape.epoch != s.epoch.Load() {
			s.epoch.Store(r.shape.epoch)
		}
	}
	s.queue.advance(r)
}

// awaitRecord waits until the queue has something, and reads replies that come
// meanwhile.
func (s *session) awaitRecord() {
	if t, ok := s.p.pace.(thinkPace); ok {
		if lead := t.lead(s); lead != none {
			s.p.source.wants.add(&s.want, lead)
			defer s.p.source.wants.remove(&s.want)
		}
	}
	switch {
	case s.queue.arm():
	case s.pending() != nil && s.dead == "":
		s.read(0)
	default:
		s.line.Pause(0)
	}
	s.queue.disarm()
	s.tryAgain()
}

// poke makes the session look around. Anybody may call it.
func (s *session) poke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.poke()
}

// stop gives the session until then to receive what it waits for.
func (s *session) stop(until int64) {
	s.grace.Store(until)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.limit(until)
}

// use gives the session a line.
func (s *session) use(l line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = l
	if until := s.grace.Load(); until != 0 {
		l.limit(until)
	}
}

// recorded joins a recorded reply that was read after its event.
func (s *session) recorded(r *record) {
	f := s.copying
	if f == nil || f.ordinal != r.ordinal {
		f = s.ring.find(r.ordinal, 0)
	}
	if f != nil {
		f.recorded(r)
		s.settle(false)
		return
	}
	for i := range s.batch { // it waits to be sent
		if b := &s.batch[i]; b.ordinal == r.ordinal {
			b.flags |= r.flags
			b.status, b.state, b.rows, b.sum = r.status, r.state, r.rows, r.sum
			return
		}
	}
	if r.flags&flagCommit != 0 {
		s.p.order.ended(&s.turn)
	}
}

// pending is the first event without an outcome, or nil.
func (s *session) pending() *flight {
	if s.copying != nil {
		return s.copying
	}
	return s.ring.pending()
}

// settle counts the events at the front whose outcome and recorded reply are
// known; when forced, those whose recorded reply is not.
func (s *session) settle(forced bool) {
	for s.ring.n > 0 {
		f := s.ring.at(0)
		if !forced && s.attempt.holds(f.ordinal) {
			return
		}
		if !f.done || !forced && !f.replied && f.attempted() && s.ring.n < maxUnjoined {
			return
		}
		s.count(f, rowEvent)
		s.ring.pop()
	}
}

// maxUnjoined bounds the events that wait for their recorded reply. It comes
// before the session's next unpipelined request, unless the trace is damaged.
const maxUnjoined = 65536

// count gives an event its place in the account and in the run.
func (s *session) count(f *flight, kind rowKind) {
	if f.commits {
		s.p.order.ended(&s.turn)
	}
	if s.p.forgets(s.id, f.ordinal) {
		return
	}
	f.compare(s.p.check)
	if f.replied && f.state != 0 {
		s.was = f.state
	}
	s.counts.count(f.op, f.status)
	st := s.p.account.of(s.id)
	st.mu.Lock()
	st.diverging.note(s.id, f)
	st.settle(f, s.p.pace.scheduled())
	st.loops.settle(s.loop, f)
	if s.p.run != nil {
		s.p.run.add(st, f.row(s.id, kind))
	}
	st.mu.Unlock()
}

// detach takes a COPY that is the first of the ring out of it, so that its data
// do not pile up behind it. In the run, its reply follows it.
func (s *session) detach() {
	if s.copying != nil || s.ring.n == 0 || s.ring.at(0).done {
		return
	}
	f := *s.ring.at(0)
	s.ring.pop()
	s.copying = &f
	if s.p.run == nil {
		return
	}
	st := s.p.account.of(s.id)
	st.mu.Lock()
	s.p.run.add(st, f.row(s.id, rowOpen))
	st.mu.Unlock()
}

// attach counts the COPY that was taken out.
func (s *session) attach() {
	f := s.copying
	s.copying = nil
	s.count(f, rowReply)
}
