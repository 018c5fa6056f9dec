package replay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/trace"
)

// phase is how far the replay has come.
type phase int32

const (
	running     phase = iota
	expired           // the duration is over: nothing is sent, the rest is read and counted
	interrupted       // nothing is sent, nothing more is read
)

// String is the reason of what was not sent.
func (p phase) String() string { return [...]string{"running", "duration", "interrupted"}[p] }

// maxLogins bounds the logins under way at a time: a server forks for each, and
// its queue of connections is short.
const maxLogins = 64

// graceTime is how long outstanding replies are waited for once nothing more is
// sent.
const graceTime = 5 * time.Second

// player is a replay in progress.
type player struct {
	pace      pace
	check     bool // make checksums of results
	schedule  schedule
	silent    silence
	clock     clock.Clock
	connector connector
	source    *source
	account   *account
	run       *runWriter // nil when nobody wants the run
	spill     spill
	selection selection
	retries   int               // of a transaction, at most
	users     map[string]string // by the recorded ones; the others are the target's own
	gate      *gate             // where sessions begin when others end
	order     *order            // nil where sessions do not wait for each other
	fault     func(session, ordinal uint64) bool

	loops    []*loop // none where sessions have goroutines
	turn     atomic.Uint64
	sessions sync.WaitGroup
	logins   chan struct{}
	stopped  context.Context // done when nothing more is to be sent
	stop     context.CancelFunc
	now      atomic.Int32   // phase
	begun    atomic.Bool    // the clock runs: schedule is settled
	started  chan struct{}  // closed then
	opening  sync.WaitGroup // sessions that connect before that

	stalls stalls

	mu      sync.Mutex
	playing map[*session]struct{}
	most    int // playing at once
	grace   int64
	err     error
	refusal error // the first login that failed
}

func newPlayer(ctx context.Context, o *Options, name string, in *trace.Reader) *player {
	p := &player{
		check: o.Check, clock: o.Clock, connector: o.connect, account: newAccount(o.Loops), fault: o.Fault,
		schedule: schedule{speed: 1}, logins: make(chan struct{}, maxLogins), playing: map[*session]struct{}{},
		started: make(chan struct{}),
	}
	if p.connector == nil {
		p.connector = serverConnector{o.Target}
	}
	if o.Speed != 0 {
		p.schedule.speed = o.Speed
	}
	p.silent.longest = int64(o.MaxGap)
	p.pace = newPace(name, &p.schedule, &p.silent, o)
	if p.pace.follows() {
		p.gate = &gate{begin: p.begin, silent: &p.silent, delays: name == PaceThink}
	}
	p.selection, p.users, p.retries = o.selection(), o.UserMap, o.Retry
	if o.Order == OrderCommit {
		p.order = &order{limit: o.orderWait(), wake: func() { p.source.notify() }}
	}
	p.stopped, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.source = newSource(p, newFeed(in, o))
	if o.prefetch > 0 {
		p.source.prefetch = o.prefetch
	}
	if p.pace.merges() {
		p.source.merge = &merge{rounds: in.Header().Timing == trace.TimingClosedLoop}
	}
	return p
}

func (p *player) phase() phase { return phase(p.now.Load()) }

// begin plays a session on a goroutine of its own.
func (p *player) begin(s *session) {
	p.mu.Lock()
	p.playing[s] = struct{}{}
	p.most = max(p.most, len(p.playing))
	grace := p.grace
	p.mu.Unlock()
	p.sessions.Go(func() {
		if grace != 0 {
			s.stop(grace)
		}
		p.announce(s)
		s.enter()
		p.carryOn(s)
	})
}

// carryOn plays a session on: on a loop if one can take its connection, else
// here.
func (p *player) carryOn(s *session) {
	if len(p.loops) == 0 || s.dead != "" || s.conn == nil {
		s.play()
		return
	}
	l := p.loops[p.turn.Add(1)%uint64(len(p.loops))]
	f, ok := l.adopt(s.conn)
	if !ok {
		s.play()
		return
	}
	s.conn = nil
	s.use(f)
	p.sessions.Add(1)
	f.start(func() {
		defer p.sessions.Done()
		s.play()
	})
}

// announce writes what the session began with into the run.
func (p *player) announce(s *session) {
	if p.run == nil {
		return
	}
	state := &trace.State{Session: s.id, Start: p.clock.Now(), Transaction: "idle"}
	state.Loop = s.loop
	if s.state != nil {
		state.Ordinal, state.Transaction = s.state.Ordinal, s.state.Transaction
		state.Database, state.User, state.Settings = s.state.Database, s.state.User, s.state.Settings
	}
	p.add(row{kind: rowState, session: s.id, state: state})
}

// add hands a row to the run.
func (p *player) add(r row) {
	st := p.account.of(r.session)
	st.mu.Lock()
	p.run.add(st, r)
	st.mu.Unlock()
}

// over takes leave of a session.
func (p *player) over(s *session) {
	p.mu.Lock()
	delete(p.playing, s)
	p.mu.Unlock()
	c := s.counts
	c.statements.Captured, c.events.Captured = s.captured.statements.Captured, s.captured.events.Captured
	p.account.close(s.id, s.loop, &c)
	if p.run != nil {
		p.add(row{kind: rowEnd, session: s.id})
	}
	if p.order != nil {
		p.order.leave(&s.turn)
	}
	if p.gate != nil {
		p.gate.ended(s, p.clock.Now())
		p.source.notify() // more of the trace may be wanted now
	}
}

// oldestEpoch is the first epoch of entries that a session may still ask for.
func (p *player) oldestEpoch(newest uint32) uint32 {
	oldest := newest
	if p.source.merge != nil {
		oldest = p.source.merge.oldestEpoch(newest)
	}
	if p.gate != nil { // first, since sessions go from there to the others
		p.gate.each(func(s *session) { oldest = min(oldest, s.oldestEpoch(newest)) })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.playing {
		oldest = min(oldest, s.oldestEpoch(newest))
	}
	return oldest
}

// end moves on to a later phase: sessions send no more, and have a while to
// receive what is outstanding.
func (p *player) end(to phase) {
	for {
		was := p.phase()
		if was >= to {
			return
		}
		if p.now.CompareAndSwap(int32(was), int32(to)) {
			break
		}
	}
	p.stop()
	p.mu.Lock()
	if p.grace == 0 {
		p.grace = p.clock.Now() + int64(graceTime)
	}
	grace := p.grace
	all := make([]*session, 0, len(p.playing))
	for s := range p.playing {
		all = append(all, s)
	}
	p.mu.Unlock()
	for _, s := range all {
		s.stop(grace)
	}
	if p.gate != nil {
		p.gate.openAll()
	}
	p.source.notify()
}

// fail ends the replay because of our own trouble; the first error stays.
func (p *player) fail(err error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	p.mu.Unlock()
	p.end(interrupted)
}

// refused keeps the first reason for which a session got no connection.
func (p *player) refused(err error) {
	p.mu.Lock()
	if p.refusal == nil {
		p.refusal = err
	}
	p.mu.Unlock()
	p.account.sessionFailed()
}

// mayLogin waits for its turn to log in.
func (p *player) mayLogin() (release func(), err error) {
	select {
	case p.logins <- struct{}{}:
		return func() { <-p.logins }, nil
	case <-p.stopped.Done():
		return nil, p.stopped.Err()
	}
}

// forgets drops an event where a test asks for it.
func (p *player) forgets(session, ordinal uint64) bool {
	return p.fault != nil && p.fault(session, ordinal)
}
