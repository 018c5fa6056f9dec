package replay

import (
	"bytes"
	"encoding/binary"

	"github.com/retrace-db/retrace/trace"
)

// ownOrdinal names what replay sends of its own: a Sync in place of a skipped
// one, a CopyFail, a Parse that was skipped earlier. No event has it.
const ownOrdinal = noOrdinal

// noOrdinal is after every event.
const noOrdinal = ^uint64(0)

var (
	syncMessage      = []byte{'S', 0, 0, 0, 4}
	flushMessage     = []byte{'H', 0, 0, 0, 4}
	terminateMessage = []byte{'X', 0, 0, 0, 4}
	copyFailMessage  = append([]byte{'f', 0, 0, 0, 4 + 27}, "retrace: no data were sent\x00"...)
)

const messageHeader = 5

// nextMessage takes the first message off b. ok is false at the end, and where b
// does not hold whole messages.
func nextMessage(b []byte) (kind byte, body, rest []byte, ok bool) {
	if len(b) < messageHeader {
		return 0, nil, nil, false
	}
	n := uint64(binary.BigEndian.Uint32(b[1:])) + 1
	if n < messageHeader || n > uint64(len(b)) {
		return 0, nil, nil, false
	}
	return b[0], b[messageHeader:n], b[n:], true
}

// lastType is the type of the last message, or 0.
func lastType(b []byte) (last byte) {
	for {
		kind, _, rest, ok := nextMessage(b)
		if !ok {
			return last
		}
		last, b = kind, rest
	}
}

// word cuts a string off a message's body.
func word(body []byte) (text, rest []byte) {
	text, rest, _ = bytes.Cut(body, []byte{0})
	return text, rest
}

// sqlOf is the text of the first Query or Parse.
func sqlOf(b []byte) []byte {
	for {
		kind, body, rest, ok := nextMessage(b)
		switch {
		case !ok:
			return nil
		case kind == 'P':
			_, body = word(body)
			fallthrough
		case kind == 'Q':
			sql, _ := word(body)
			return sql
		}
		b = rest
	}
}

// watch keeps the Parse of an event if others may execute what it prepares.
func watch(op trace.Op, b []byte) []byte {
	kind, body, rest, ok := nextMessage(b)
	if !ok || kind != 'P' || op != trace.OpPrepare && len(body) > 0 && body[0] == 0 {
		return nil
	}
	return bytes.Clone(b[:len(b)-len(rest)])
}

// endsTransaction tells whether the server runs this statement even though the
// transaction has failed.
func endsTransaction(sql string) bool {
	first, rest := keyword(sql)
	switch first {
	case "COMMIT", "END", "ROLLBACK", "ABORT":
		return true
	case "PREPARE":
		second, _ := keyword(rest)
		return second == "TRANSACTION"
	}
	return false
}

// keyword cuts the first word off a statement, in upper case.
func keyword(sql string) (first, rest string) {
	i := 0
	for i < len(sql) && (sql[i] == ' ' || sql[i] == '\t' || sql[i] == '\n' || sql[i] == '\r' || sql[i] == '\f' || sql[i] == ';') {
		i++
	}
	var buf [16]byte
	n := 0
	for i < len(sql) && n < len(buf) {
		c := sql[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		buf[n] = c
		n++
		i++
	}
	return string(buf[:n]), sql[i:]
}
