package capture

import "github.com/retrace-db/retrace/internal/wire/pg"

// pressure says how full the queue to the encoder is. The steps are apart so
// that a session can end what it has begun: a transaction begun below busy has
// all the room between busy and crowded to come to its end.
type pressure uint8

const (
	relaxed pressure = iota // sessions that were dropped may come back
	easy                    // as things are, so be it
	busy                    // idle sessions are dropped from their next request on
	crowded                 // the others too, in the middle of a transaction
	full                    // even in the middle of a request
)

// policy decides which events of one session are recorded. What it drops is a
// run of ordinals that begins with a request and ends where the session is idle
// with nothing under way, so that a transaction is recorded whole or not at all
// as long as there is any room to do so. What is left out on purpose also begins
// where the session is idle: then nothing is torn.
type policy struct {
	dropping bool
	left     bool // on purpose: until join
	torn     bool // what was recorded before left a transaction, a request or a COPY open
	copying  bool // it is a COPY, whose data is being dropped
	inside   bool // the last event did not end its request
	pending  int  // events without a reply, dropped ones included
	state    byte // transaction state after the last reply

	// The gap: what was dropped since dropping began, or last.
	lossy       bool
	told        bool // the gap has been recorded; it still tells replies apart
	first, last uint64
	start       int64
	why         string
}

// step is what a policy must know of an event.
type step struct {
	ordinal    uint64
	start      int64
	op         pg.Op
	requestEnd bool
}

// idle: the session has got all its answers and is in no transaction.
func (p *policy) idle() bool { return p.pending == 0 && p.state == 'I' && !p.inside }

// mustDrop tells whether the next event begins a stretch of drops.
func (p *policy) mustDrop(level pressure) bool {
	switch {
	case level >= full:
		return true
	case level == crowded:
		return !p.inside
	case level == busy:
		return p.idle()
	}
	return false
}

// request takes note of an event and tells whether to record it. over is true
// when a stretch of drops ends just before it.
func (p *policy) request(s step, level pressure, why string) (keep, over bool) {
	switch {
	case p.left:
	case !p.dropping && p.mustDrop(level):
		p.begin(s.op == pg.OpCopy, why)
	case p.dropping && level == relaxed && p.idle():
		p.dropping, over = false, true
	}
	if p.dropping {
		p.miss(s.ordinal, s.ordinal, s.start)
	}
	p.pending++
	p.inside = !s.requestEnd && s.op != pg.OpConnect
	return !p.dropping, over
}

func (p *policy) begin(copying bool, why string) {
	p.dropping, p.torn, p.copying = true, !p.idle(), copying
	p.lossy, p.told, p.why = false, false, why
}

// leave begins to leave the session's events out; join ends that, and is for a
// session that is idle, as leave is but for one that begins.
func (p *policy) leave(why string) {
	p.begin(false, why)
	p.left, p.torn = true, false
}

func (p *policy) join() { p.dropping, p.left = false, false }

// miss adds events to the gap.
func (p *policy) miss(first, last uint64, start int64) {
	if !p.lossy || p.told {
		p.first, p.start, p.lossy, p.told = first, start, true, false
	}
	p.last = last
}

// reply takes note of a reply and tells whether to record it, which is so when
// its request was.
func (p *policy) reply(ordinal uint64, state byte) (keep bool) {
	p.pending--
	if state != 0 {
		p.state = state
	}
	return !p.lossy || ordinal < p.first || ordinal > p.last
}

// takeGap is the row that names what was dropped, if that is still to be told.
func (p *policy) takeGap() (gap row, ok bool) {
	if !p.lossy || p.told {
		return row{}, false
	}
	p.told = true
	gap = row{kind: rowGap, ordinal: p.first, prepare: p.last, at: p.start, reason: p.why}
	if p.left {
		gap.flags = flagLeftOut
	}
	return gap, true
}

// except takes the events from first to last out of the gap, since they will be
// recorded after all. It returns what is missing before them; what is missing
// after them stays.
func (p *policy) except(first, last uint64) (gap row, ok bool) {
	end := p.last
	if p.last = first - 1; p.first <= p.last {
		gap, ok = p.takeGap()
	}
	p.first, p.last, p.told, p.lossy = last+1, end, false, end > last
	return gap, ok
}
