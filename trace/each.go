package trace

import (
	"cmp"
	"errors"
	"io"
	"slices"
)

// Each calls fn for every event once, each session's in order, with its reply
// where that is anywhere in the trace. An event that waits for its reply holds
// back those after it in its session, so that what is held depends on how deep
// clients pipeline. Events that never got a reply come with HasReply false, at
// the latest at the end. The event is valid during the call only.
func (r *Reader) Each(fn func(*Event) error) error {
	return r.each(fn, func([]State) {})
}

func (r *Reader) each(fn func(*Event) error, learn func([]State)) error {
	j := joiner{fn: fn, waiting: map[uint64]*heldSession{}}
	defer j.spill.close()
	var b Batch
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			return j.finish()
		}
		if err == nil {
			learn(b.States)
			err = j.take(&b)
		}
		if err != nil {
			return err
		}
	}
}

// joiner brings events and their late replies together.
type joiner struct {
	fn      func(*Event) error
	waiting map[uint64]*heldSession
	spill   spill
	free    []*heldSession
}

// heldSession is a session whose first held event has no reply yet.
type heldSession struct {
	id     uint64
	events []heldEvent
}

type heldEvent struct {
	Event
	at int64 // where its values are in the spill file, -1 if they are in memory
}

func (j *joiner) take(b *Batch) error {
	for i := range b.Late {
		if err := j.late(&b.Late[i]); err != nil {
			return err
		}
	}
	events := b.Events
	for len(events) > 0 {
		id, n := events[0].Session, 1
		for n < len(events) && events[n].Session == id {
			n++
		}
		if err := j.session(id, events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// session passes on events as long as they have replies, and holds the rest.
func (j *joiner) session(id uint64, events []Event) error {
	h := j.waiting[id]
	for i := range events {
		e := &events[i]
		if h == nil && e.HasReply {
			if err := j.fn(e); err != nil {
				return err
			}
			continue
		}
		if h == nil {
			h = j.hold(id)
		}
		if err := j.keep(h, e); err != nil {
			return err
		}
		if e.HasReply && answersInOrder(e) {
			if err := j.release(h, len(h.events)); err != nil {
				return err
			}
			h = nil
		}
	}
	return nil
}

// answersInOrder tells whether a reply to this event proves that the session's
// earlier ones have been answered too: then those without a reply will not get
// one any more (it was in a damaged block).
func answersInOrder(e *Event) bool { return e.Entry.Op != OpCopy && e.Entry.Op != OpEnd }

// late gives a held event its reply and passes on what that sets free.
func (j *joiner) late(l *Late) error {
	h := j.waiting[l.Session]
	if h == nil {
		return nil
	}
	free := 0
	for i := range h.events {
		e := &h.events[i]
		if e.Ordinal != l.Ordinal || e.HasReply {
			continue
		}
		e.HasReply, e.Reply = true, l.Reply
		if l.Entry != nil {
			e.Entry, e.Shape = l.Entry, l.Entry.ID
		}
		if answersInOrder(&e.Event) {
			free = i + 1
		}
		break
	}
	for free < len(h.events) && h.events[free].HasReply {
		free++
	}
	return j.release(h, free)
}

// release passes on the first n held events of a session.
func (j *joiner) release(h *heldSession, n int) error {
	for i := range h.events[:n] {
		if err := j.pass(&h.events[i]); err != nil {
			return err
		}
	}
	h.events = slices.Delete(h.events, 0, n)
	if len(h.events) == 0 {
		j.letGo(h)
	}
	return nil
}

func (j *joiner) hold(id uint64) *heldSession {
	h := &heldSession{}
	if n := len(j.free); n > 0 {
		h, j.free = j.free[n-1], j.free[:n-1]
	}
	h.id = id
	j.waiting[id] = h
	return h
}

func (j *joiner) letGo(h *heldSession) {
	delete(j.waiting, h.id)
	if len(j.free) < 1024 && cap(h.events) <= 64 {
		j.free = append(j.free, h)
	}
}

// keep copies an event out of the block's buffers.
func (j *joiner) keep(h *heldSession, e *Event) error {
	k := heldEvent{Event: *e, at: -1}
	k.Sizes = slices.Clone(e.Sizes)
	at, err := j.spill.put(e.Values)
	if err != nil {
		return err
	}
	if k.at = at; at < 0 {
		k.Values = slices.Clone(e.Values)
	}
	h.events = append(h.events, k)
	return nil
}

func (j *joiner) pass(k *heldEvent) error {
	if k.at >= 0 {
		n := 0
		for _, s := range k.Sizes {
			if s > SizeRedacted {
				n += int(s - SizeOf(0))
			}
		}
		values, err := j.spill.get(k.at, n)
		if err != nil {
			return err
		}
		k.Values = values
	} else {
		j.spill.release(len(k.Values))
	}
	return j.fn(&k.Event)
}

// finish passes on what never got a reply, session by session in the order in
// which they began to wait.
func (j *joiner) finish() error {
	left := make([]*heldSession, 0, len(j.waiting))
	for _, h := range j.waiting {
		left = append(left, h)
	}
	slices.SortFunc(left, func(a, b *heldSession) int {
		return cmp.Or(cmp.Compare(a.events[0].Start, b.events[0].Start), cmp.Compare(a.id, b.id))
	})
	for _, h := range left {
		if err := j.release(h, len(h.events)); err != nil {
			return err
		}
	}
	return nil
}
