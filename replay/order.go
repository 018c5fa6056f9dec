package replay

import (
	"slices"
	"sync"
	"time"
)

// Orders: whether transactions wait for those of other sessions.
const (
	OrderSession = "session" // no
	OrderCommit  = "commit"  // for those that had committed before they started
)

// DefaultOrderWait bounds such a wait.
const DefaultOrderWait = 5 * time.Second

// maxUnfinished is how many transactions may be read to their commit and not be
// over before the reader hesitates.
const maxUnfinished = 1 << 16

// order lets a transaction start in the replay once all transactions are over
// that had committed when it started in the recording.
//
// Commits are numbered in the order of their recorded times. What a transaction
// waits for is then a number: that those before it are over without a hole. All
// such waits go back in recorded time, so that they cannot form a circle. Locks
// of the server can close one: hence the limit, after which what was waited for
// in vain is not waited for any more.
type order struct {
	limit time.Duration
	wake  func() // the reader

	mu         sync.Mutex
	marks      heap[boundary]
	ends       int    // commits numbered so far
	over       int    // [0, over) are over in the replay, or given up
	ahead      []bool // which of those from over on are over
	unfinished int    // numbered and not over
	abandoned  []int  // given up and not over, ascending
	waiting    heap[*turn]
	asking     int // sessions that wait for the reader
}

// boundary is where a transaction starts or is committed in the recording.
type boundary struct {
	at    int64
	isEnd bool
	turn  *turn
}

func (b boundary) before(o boundary) bool {
	return b.at < o.at || b.at == o.at && b.isEnd && !o.isEnd
}

func (boundary) place(int) {}

// turn is what the order knows of a session.
type turn struct {
	wake   func()
	needs  []int // of its transactions that have not started: how many must be over
	passed int   // starts for which the number will come too late
	ends   []int // numbers of its commits that are not over
	early  int   // commits that were over before they had a number
	gone   bool  // the session is over
	asking bool
	want   int // while it waits
	spot   int // in waiting, -1 for none
}

func (t *turn) before(o *turn) bool { return t.want < o.want }
func (t *turn) place(i int)         { t.spot = i }

// mark notes a start or a commit. Those of a block come in no particular order,
// and the next block may hold some that are a little earlier, see pass.
func (o *order) mark(t *turn, at int64, isEnd bool) {
	o.mu.Lock()
	o.marks.push(boundary{at, isEnd, t})
	o.mu.Unlock()
}

// pass takes the marks up to a recorded time into account: nothing earlier will
// be added.
func (o *order) pass(horizon int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.marks) > 0 && o.marks[0].at <= horizon {
		b := o.marks.remove(0)
		if b.isEnd {
			o.number(b.turn)
		} else {
			o.decide(b.turn)
		}
	}
	o.release()
}

// number gives a commit its place; o.mu is held.
func (o *order) number(t *turn) {
	isOver := t.gone || t.early > 0
	if !isOver {
		t.ends = append(t.ends, o.ends)
		o.unfinished++
	} else if t.early > 0 {
		t.early--
	}
	o.ends++
	o.ahead = append(o.ahead, isOver)
	o.advance()
}

// decide says what a start has to wait for; o.mu is held.
func (o *order) decide(t *turn) {
	switch {
	case t.passed > 0:
		t.passed--
	case !t.gone:
		t.needs = append(t.needs, o.ends)
		if t.asking {
			t.wake()
		}
	}
}

// advance moves over past the commits that are over without a hole; o.mu is held.
func (o *order) advance() {
	n := 0
	for n < len(o.ahead) && o.ahead[n] {
		n++
	}
	o.ahead = o.ahead[n:]
	o.over += n
}

// release wakes the sessions that may go on; o.mu is held.
func (o *order) release() {
	for len(o.waiting) > 0 && o.waiting[0].want <= o.over {
		o.waiting.remove(0).wake()
	}
}

// take takes the last of n starts off a session: how many commits must be over.
// Where the reader has not come so far, it is asked to go on.
func (o *order) take(t *turn, n int) (needs int, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known = len(t.needs) >= n
	if known {
		needs = t.needs[n-1]
		t.needs = t.needs[n:]
	}
	if t.asking == known {
		t.asking = !known
		if t.asking {
			o.asking++
			o.wake()
		} else {
			o.asking--
		}
	}
	return needs, known
}

// skip takes n starts off a session that come to nothing.
func (o *order) skip(t *turn, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	have := min(n, len(t.needs))
	t.needs = t.needs[have:]
	t.passed += n - have
	if t.asking {
		t.asking = false
		o.asking--
	}
}

// may tells whether so many commits are over; if not, the session is woken then.
func (o *order) may(t *turn, needs int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.spot >= 0 {
		o.waiting.remove(t.spot)
	}
	if needs <= o.over {
		return true
	}
	t.want = needs
	o.waiting.push(t)
	return false
}

// withdraw takes back that a session is to be woken.
func (o *order) withdraw(t *turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.spot >= 0 {
		o.waiting.remove(t.spot)
	}
}

// giveUp has nobody wait any more for the first commits.
func (o *order) giveUp(t *turn, needs int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.spot >= 0 {
		o.waiting.remove(t.spot)
	}
	for i := 0; o.over+i < needs; i++ {
		if !o.ahead[i] {
			o.abandoned = append(o.abandoned, o.over+i)
		}
	}
	if n := needs - o.over; n > 0 {
		o.ahead, o.over = o.ahead[n:], needs
	}
	o.advance()
	o.release()
}

// kept tells whether what a start had to wait for is over in truth.
func (o *order) kept(needs int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.abandoned) == 0 || o.abandoned[0] >= needs
}

// ended notes that a session's next commit is over in the replay, whatever
// became of it.
func (o *order) ended(t *turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(t.ends) == 0 {
		t.early++
		return
	}
	o.finish(t.ends[0])
	t.ends = t.ends[1:]
	o.advance()
	o.release()
}

func (o *order) finish(number int) {
	o.unfinished--
	if number >= o.over {
		o.ahead[number-o.over] = true
	} else if i, ok := slices.BinarySearch(o.abandoned, number); ok {
		o.abandoned = slices.Delete(o.abandoned, i, i+1)
	}
}

// leave notes that a session is over, and all its commits with it.
func (o *order) leave(t *turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, number := range t.ends {
		o.finish(number)
	}
	t.gone, t.needs, t.ends = true, nil, nil
	o.advance()
	o.release()
}

// appetite tells the reader whether sessions wait for it, and whether so many
// commits are not over that it should hesitate.
func (o *order) appetite() (hungry, full bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asking > 0, o.unfinished >= maxUnfinished
}
