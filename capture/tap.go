package capture

import (
	"fmt"
	"maps"
	"sync"

	"github.com/retrace-db/retrace/internal/wire/pg"
)

// tap understands one session's traffic and queues what happened. It is fed
// after the bytes have gone on and is a pure function of them: whatever it makes
// of them, the session goes on.
type tap struct {
	mu       sync.Mutex
	conv     *pg.Conversation
	recorder *Recorder
	stripe   *stripe
	life     *life
	policy   policy
	held     held

	unwanted string  // why the session is never recorded, or ""
	recorded bool    // some of it may be in the trace
	unnamed  unnamed // followed while the session is left out
	starts   int64   // of the recorder's, when a fault came while the session was left out

	settings map[string]string // reported by the server during login
	texts    []byte            // scratch
	loggedIn bool
	now      int64  // of what the client sent last
	next     uint64 // ordinal of the next event
	fault    error
	ended    bool

	// onKey is called once, when the server has given the session its cancel key.
	onKey func(pid uint32, key []byte)
	keyed bool
}

// client shows what the client sent at the time now.
func (t *tap) client(b []byte, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.fault != nil {
		return
	}
	defer t.recovered(now)
	t.now = now
	if err := t.conv.Client(b, now); err != nil {
		t.fail(err, now)
	}
}

// server shows what the server sent at the time now.
func (t *tap) server(b []byte, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.fault != nil {
		return
	}
	defer t.recovered(now)
	if err := t.conv.Server(b, now); err != nil {
		t.fail(err, now)
		return
	}
	if !t.keyed {
		t.lookForKey()
	}
}

// idle: the session waits for nothing and is in no transaction.
func (t *tap) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.fault != nil {
		return true // nobody can tell any more
	}
	return t.conv.Idle()
}

// running is the ordinal of the event that the server is at, or of the latest;
// busy tells which.
func (t *tap) running() (ordinal uint64, busy bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conv.Running(), t.conv.Pending() > 0
}

// end closes the session; reason says who ended it.
func (t *tap) end(now int64, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	if t.fault == nil {
		t.close(now, reason)
	} else {
		t.endAfterFault(now, reason)
	}
	t.ended = true
	t.tellGap()
	if t.policy.left && !t.recorded {
		t.recorder.passed(t.policy.why, 1, 0)
	}
	if t.unwanted == "" {
		t.put(row{kind: rowEnded, at: now}, nil)
	}
}

func (t *tap) close(now int64, reason string) {
	defer t.recovered(now)
	t.conv.Close(now, reason)
}

// recovered turns a bug of the parser into the end of this one recording.
func (t *tap) recovered(now int64) {
	if p := recover(); p != nil {
		t.fail(fmt.Errorf("internal error: %v", p), now)
	}
}

// fail ends the recording of the session, whose bytes make no sense any more.
// What was half read and what is still to come are one gap.
func (t *tap) fail(err error, now int64) {
	t.fault = err
	t.recorder.faults.Add(1)
	if t.policy.left {
		t.starts = t.recorder.starts.Load()
		return
	}
	t.tellGap()
	last := max(t.next, t.conv.LastOrdinal())
	t.put(row{kind: rowFault, at: now, ordinal: t.next, prepare: last, reason: "unreadable: " + err.Error()}, nil)
	t.next = last + 1
}

// endAfterFault records the end of a session that could not be read to its end.
func (t *tap) endAfterFault(now int64, reason string) {
	if t.policy.left {
		t.neverJoined(now)
		return
	}
	t.put(row{kind: rowRequest, op: pg.OpEnd, ordinal: t.next, at: now, flags: flagRequestEnd, prepare: pg.NoPrepare}, nil)
	t.put(row{kind: rowReply, ordinal: t.next, at: now, done: now, reason: reason, prepare: pg.NoPrepare}, nil)
}

func (t *tap) lookForKey() {
	pid, key := t.conv.Key()
	if len(key) > 0 && t.onKey != nil {
		t.onKey(pid, key)
	}
	t.keyed = len(key) > 0 || t.loggedIn // some servers give none
}

func (t *tap) put(r row, name []byte) {
	r.life = t.life
	t.stripe.put(&r, name, &t.recorder.queue)
}

// tellGap names what was dropped until now. Of a session that is not in the
// trace there is nothing to name.
func (t *tap) tellGap() {
	if gap, ok := t.policy.takeGap(); ok && t.recorded {
		t.put(gap, nil)
	} else if ok {
		t.recorder.passed(gap.reason, 0, gap.prepare-gap.ordinal+1)
	}
	t.held.drop()
}

// The calls of pg.Sink come with the lock held.

func (t *tap) Started(s pg.Startup) {
	s.Settings = maps.Clone(s.Settings)
	t.begin(&s)
	if !t.recorder.knowsServer() {
		t.settings = map[string]string{}
	}
}

func (t *tap) Request(r *pg.Request) {
	t.next = r.Ordinal + 1
	t.turn(r)
	if t.policy.left {
		t.policy.request(step{r.Ordinal, r.Start, r.Op, r.RequestEnd}, relaxed, "")
		return
	}
	if r.Op == pg.OpConnect || r.Op == pg.OpEnd {
		// They weigh little and say much: they are recorded whatever is not.
		t.tellGap()
		t.policy.pending++
		t.put(requestRow(t.life, r), nil)
		return
	}
	s := step{r.Ordinal, r.Start, r.Op, r.RequestEnd}
	keep, over := t.policy.request(s, t.recorder.pressure(), t.recorder.why())
	if over {
		t.tellGap()
	}
	switch {
	case keep:
		t.put(requestRow(t.life, r), nil)
	case t.policy.copying && r.Op == pg.OpCopy && endsCopy(r.Bytes):
		t.policy.copying = false
		t.after(r.Ordinal, r.Ordinal, []row{requestRow(t.life, r)})
	case t.policy.torn:
		t.held.add(t.life, r)
	}
}

func (t *tap) Reply(r *pg.Reply) {
	if !t.loggedIn && r.State != 0 {
		t.loggedIn = true
		t.recorder.login(t.settings)
		t.settings = nil
	}
	if t.policy.reply(r.Ordinal, r.State) {
		t.put(replyRow(t.life, r), nil)
		return
	}
	if !t.policy.torn {
		return
	}
	if request := t.held.reply(t.life, r); request != nil {
		t.policy.torn = false
		t.after(request[0].ordinal, r.Ordinal, request)
		t.held.drop()
	}
}

// after records events that end what the trace would else leave open.
func (t *tap) after(first, last uint64, rows []row) {
	if gap, missing := t.policy.except(first, last); missing {
		t.put(gap, nil)
	}
	for i := range rows {
		t.put(rows[i], nil)
	}
}

func (t *tap) Prepared(name []byte, ordinal uint64, message []byte) {
	switch {
	case t.unwanted != "":
		return
	case t.policy.left && len(name) == 0:
		t.unnamed.prepared(ordinal, message)
		return
	}
	if t.recorder.pressure() == full {
		message = nil // its text is lost; that it exists is not
	}
	t.put(row{kind: rowPrepared, ordinal: ordinal, data: message}, name)
}

func (t *tap) Deallocated(name []byte) {
	switch {
	case t.unwanted != "":
		return
	case t.policy.left && name != nil && len(name) == 0:
		t.unnamed.dropped()
		return
	}
	r := row{kind: rowDeallocated}
	if name == nil {
		r.flags = flagAll
	}
	t.put(r, name)
}

func (t *tap) Sets(inForce, open [][]byte) {
	if t.unwanted != "" {
		return
	}
	t.texts = appendTexts(appendTexts(t.texts[:0], inForce), open)
	t.put(row{kind: rowSets, data: t.texts}, nil)
}

func (t *tap) Setting(name, value string) {
	if t.settings != nil {
		t.settings[name] = value
	}
}
