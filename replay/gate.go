package replay

import "sync"

// gate decides in paces closed and think when a session may begin: once all
// sessions that had ended before it began in the recording have ended in the
// replay. So concurrency never exceeds the recorded one, however fast the
// sessions run.
//
// Ends are numbered in the order of their recorded times. What a session waits
// for is then a number: that the ends before it are over without a hole.
type gate struct {
	begin  func(*session)
	silent *silence
	delays bool // sessions begin as long after as they did

	mu      sync.Mutex
	open    bool // everybody may begin
	marks   heap[mark]
	ends    int     // numbered so far
	over    int     // ends [0, over) are over in the replay
	ahead   []int64 // when those after that were over, 0 for not yet
	waiting []*session

	plan  *schedule
	last  int64 // recorded time of the last end that is numbered, or of the trace's beginning
	since int64 // when the ends [0, over) were over
}

// start says when the clock starts, and which recorded time that is.
func (g *gate) start(plan *schedule) {
	g.plan, g.last, g.since = plan, plan.origin, plan.base
}

// mark is the begin or the end of a recorded session.
type mark struct {
	at      int64
	isEnd   bool
	end     int64 // when it ended; at is when it had had its last reply, if that was a moment before
	session *session
}

func (m mark) before(o mark) bool {
	return m.at < o.at || m.at == o.at && m.isEnd && !o.isEnd
}

func (mark) place(int) {}

// add notes a begin or an end. Those of a block come in no particular order, and
// the next block may hold some that are a little earlier, see pass.
func (g *gate) add(m mark) {
	g.mu.Lock()
	g.marks.push(m)
	g.mu.Unlock()
}

// pass takes the marks up to a recorded time into account: nothing earlier will
// be added.
func (g *gate) pass(horizon int64) {
	g.mu.Lock()
	for len(g.marks) > 0 && g.marks[0].at <= horizon {
		m := g.marks.remove(0)
		if m.isEnd {
			g.last = max(g.last, m.end)
			g.number(m.session)
		} else {
			m.session.needs = g.ends
			if g.delays {
				m.session.delay = g.silent.shorten(max(m.at-g.last, 0))
			}
			g.waiting = append(g.waiting, m.session)
		}
	}
	g.release()
	g.mu.Unlock()
}

// number gives an end its place; g.mu is held.
func (g *gate) number(s *session) {
	s.end = g.ends
	s.numbered = true
	g.ends++
	g.ahead = append(g.ahead, s.over)
	g.advance()
}

// ended notes that a session is over in the replay.
func (g *gate) ended(s *session, now int64) {
	g.mu.Lock()
	s.over = now
	if s.numbered && s.end >= g.over {
		g.ahead[s.end-g.over] = now
		g.advance()
	}
	g.release()
	g.mu.Unlock()
}

// advance moves over past the ends that are over without a hole; g.mu is held.
func (g *gate) advance() {
	n := 0
	for n < len(g.ahead) && g.ahead[n] != 0 {
		g.since = max(g.since, g.ahead[n])
		n++
	}
	g.ahead = g.ahead[n:]
	g.over += n
}

// release lets the sessions begin that may; g.mu is held. It is held until they
// have begun, so that the last of the others cannot end the replay before.
func (g *gate) release() {
	for len(g.waiting) > 0 && (g.open || g.waiting[0].needs <= g.over) {
		s := g.waiting[0]
		s.heard = addClamped(g.since, g.plan.scaled(s.delay))
		g.begin(s)
		g.waiting[0] = nil
		g.waiting = g.waiting[1:]
	}
}

// openAll lets everybody begin, since nothing is sent any more.
func (g *gate) openAll() {
	g.mu.Lock()
	g.open = true
	g.release()
	g.mu.Unlock()
}

// each visits the sessions that have not begun.
func (g *gate) each(visit func(*session)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.waiting {
		visit(s)
	}
	for _, m := range g.marks {
		visit(m.session)
	}
}

// undecided tells whether sessions may be free to begin once more of the trace
// is read, and how many wait for others to end.
func (g *gate) undecided() (more bool, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) == 0 && len(g.marks) > 0, len(g.waiting)
}

// lead is how far the next session to begin is ahead of the clock, if it only
// waits for its time.
func (g *gate) lead() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 || g.over < g.ends {
		return none
	}
	return g.plan.leadOf(g.last, g.since)
}
