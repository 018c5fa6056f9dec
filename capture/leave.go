package capture

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/retrace-db/retrace/internal/wire/pg"
)

// Why a session, or a part of it, is left out on purpose.
const (
	whyOff    = "recording was off"
	whySample = "not in the sample"
)

// sampled tells whether a session is one of the share that is recorded. That
// follows from its id, so that whoever has the ids can tell, too.
func sampled(id uint64, share float64) bool {
	if share <= 0 || share >= 1 {
		return true
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], id)
	return float64(xxhash.Sum64(b[:])) < share*(1<<64)
}

// off says why the session is not to be recorded now, or "".
func (t *tap) off() string {
	switch {
	case t.unwanted != "":
		return t.unwanted
	case t.recorder.off.Load():
		return whyOff
	}
	return ""
}

// leftOut says why what the session does now is not recorded, or "".
func (t *tap) leftOut() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.policy.left {
		return t.policy.why
	}
	return ""
}

// begin introduces the session to the encoder, unless it will never be recorded.
func (t *tap) begin(s *pg.Startup) {
	if t.unwanted == "" && !t.recorder.wants(t.life.id, s) {
		t.unwanted = whyOnly
	}
	r := row{kind: rowStarted, startup: s, at: t.now}
	if why := t.off(); why != "" {
		t.leave(why)
		r.flags = flagLeftOut
	} else {
		t.recorded = true
	}
	if t.unwanted == "" {
		t.put(r, nil)
	}
}

// leave leaves the session out, at no more cost than following it.
func (t *tap) leave(why string) {
	t.policy.leave(why)
	t.conv.Checksum(false)
}

// turn leaves the session out from this event on, or records it, whichever is
// wanted now: where it is idle, so that of every transaction there is all or
// nothing.
func (t *tap) turn(r *pg.Request) {
	why := t.off()
	if t.policy.left == (why != "") || !t.policy.idle() {
		return
	}
	if r.Op == pg.OpEnd && !t.recorded {
		return // to join for nothing but to end
	}
	t.tellGap()
	if why != "" {
		t.leave(why)
		t.put(row{kind: rowLeft, at: r.Start}, nil)
		return
	}
	t.policy.join()
	t.conv.Checksum(t.recorder.options.Checksums)
	t.recorded = true
	t.unnamed.tell(t)
	t.put(row{kind: rowJoined, ordinal: r.Ordinal, at: r.Start}, nil)
}

// neverJoined ends a session that could not be understood while it was left
// out. If it was wanted since then, something is missing.
func (t *tap) neverJoined(now int64) {
	if t.unwanted != "" || t.recorder.off.Load() && t.recorder.starts.Load() == t.starts {
		return
	}
	t.tellGap()
	t.recorded = true
	t.put(row{kind: rowFault, at: now, ordinal: t.next, prepare: t.next, reason: "unreadable: " + t.fault.Error()}, nil)
}

// unnamed is the unnamed prepared statement of a session that is left out. It
// changes with every other request, which is nothing to bother the encoder with.
type unnamed struct {
	changed, live bool
	ordinal       uint64
	message       []byte
}

func (u *unnamed) prepared(ordinal uint64, message []byte) {
	if cap(u.message) > keepUnnamed && len(message) <= keepUnnamed {
		u.message = nil
	}
	u.changed, u.live, u.ordinal, u.message = true, true, ordinal, append(u.message[:0], message...)
}

func (u *unnamed) dropped() { u.changed, u.live = true, false }

// tell gives the encoder what has changed.
func (u *unnamed) tell(t *tap) {
	switch {
	case u.changed && u.live:
		t.put(row{kind: rowPrepared, ordinal: u.ordinal, data: u.message}, nil)
	case u.changed:
		t.put(row{kind: rowDeallocated}, nil)
	}
	*u = unnamed{}
}
