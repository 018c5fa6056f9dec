package replay

import (
	"encoding/binary"
	"slices"

	"github.com/retrace-db/retrace/trace"
)

// Types that users make have numbers which each database gives out itself: the
// recorded number is another type on the target, or none. A Parse that declares
// one is sent with that parameter undeclared, and the target finds the type from
// the statement. Values that hold such numbers themselves (arrays and records in
// binary) are read as what it found; servers before 14 refuse them.

// firstUserOID is the first OID that PostgreSQL does not give out itself.
const firstUserOID = 16384

// declaresForeign tells whether a statement declares parameter types by numbers
// that each database gives out itself.
func declaresForeign(e *trace.Entry) bool {
	if e.Prepare != nil && len(e.Types) == 0 {
		e = e.Prepare
	}
	return slices.ContainsFunc(e.Types, foreign)
}

func foreign(oid uint32) bool { return oid >= firstUserOID }

// portable leaves out parameter types that each database numbers itself.
func portable(types []uint32) []uint32 {
	own := slices.Clone(types)
	for i := range own {
		if foreign(own[i]) {
			own[i] = 0
		}
	}
	return own
}

// undeclare does the same to the Parse messages of an event, in place.
func undeclare(b []byte) {
	for {
		kind, body, rest, ok := nextMessage(b)
		if !ok {
			return
		}
		b = rest
		if kind != 'P' {
			continue
		}
		_, body = word(body)
		_, body = word(body)
		if len(body) < 2 {
			continue
		}
		n := binary.BigEndian.Uint16(body)
		for body = body[2:]; n > 0 && len(body) >= 4; n, body = n-1, body[4:] {
			if foreign(binary.BigEndian.Uint32(body)) {
				clear(body[:4])
			}
		}
	}
}

// undeclareState does it to the statements that a session had prepared.
func undeclareState(s *trace.State) {
	for i := range s.Statements {
		undeclare(s.Statements[i].Message)
	}
	for i := range s.Pending {
		undeclare(s.Pending[i].Message)
	}
}
