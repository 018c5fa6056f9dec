package replay

import (
	"encoding/binary"

	"github.com/retrace-db/retrace/trace"
)

// shot is a cancel request of the block being read.
type shot struct {
	session uint64 // its own
	ordinal uint64 // of the event it is aimed at
	start   int64
	shape   entryRef
	entry   *trace.Entry
}

const (
	reasonUnknownTarget = "unknown_target"
	reasonTooLate       = "too_late"
)

// note takes a cancel request. One that is aimed at an event read earlier goes
// into its target's queue at once, one aimed at an event of this block right
// after that.
func (src *source) note(e *trace.Event) {
	src.total.captured(e.Entry.Op)
	src.sessions++
	target, ordinal, ok := aimOf(e)
	sh := shot{session: e.Session, ordinal: ordinal, start: e.Start, shape: src.ref(e.Entry), entry: e.Entry}
	if target != 0 {
		target = src.feed.name(target)
	}
	if !ok {
		target = 0
	}
	src.shots[target] = append(src.shots[target], sh)
}

// aimOf reads whom a cancel request is aimed at: session and ordinal, eight
// bytes each.
func aimOf(e *trace.Event) (session, ordinal uint64, ok bool) {
	if len(e.Values) != 16 {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint64(e.Values), binary.LittleEndian.Uint64(e.Values[8:]), true
}

// aimed queues the cancel requests aimed at an event that was just queued.
func (src *source) aimed(s *session, ordinal uint64) error {
	if len(src.shots) == 0 {
		return nil
	}
	shots := src.shots[s.id]
	kept := shots[:0]
	for _, sh := range shots {
		if sh.ordinal != ordinal {
			kept = append(kept, sh)
			continue
		}
		if err := src.shoot(s, sh); err != nil {
			return err
		}
	}
	src.shots[s.id] = kept
	return nil
}

// earlier queues the cancel requests aimed at events of earlier blocks.
func (src *source) earlier() error {
	for target, shots := range src.shots {
		s := src.live[target]
		if s == nil {
			continue
		}
		kept := shots[:0]
		for _, sh := range shots {
			if sh.ordinal > s.lastRead {
				kept = append(kept, sh)
				continue
			}
			if err := src.shoot(s, sh); err != nil {
				return err
			}
		}
		src.shots[target] = kept
	}
	return nil
}

func (src *source) shoot(s *session, sh shot) error {
	return src.push(s, &record{
		kind: kindCancel, op: trace.OpCancel, ordinal: sh.ordinal, session: sh.session, start: sh.start, shape: sh.shape,
	}, moment{op: trace.OpCancel, start: sh.start, end: sh.start})
}

// unaimed counts the cancel requests of a block whose target is not known.
func (src *source) unaimed() {
	for _, shots := range src.shots {
		for _, sh := range shots {
			src.p.notSent(sh.session, sh.entry, reasonUnknownTarget)
		}
	}
	clear(src.shots)
}
