package capture

import (
	"net"
	"strings"
	"testing"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// TestRecordTapes records the tapes of the scripts, with -update.
func TestRecordTapes(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	server := dbtest.Postgres15(t)
	for _, s := range scripts {
		if s.size() > 4_000 {
			continue
		}
		recorded := &tapeRecorder{}
		s.play(t, server.Addr, recorded.write, recorded.heard)
		writeTape(t, "testdata/"+strings.ReplaceAll(s.name, " ", "-")+".tape", recorded.tape)
	}
}

// tapeRecorder sits between a script and its connection.
type tapeRecorder struct{ tape []piece }

func (r *tapeRecorder) write(c net.Conn, b []byte) error {
	r.tape = append(r.tape, piece{true, append([]byte(nil), b...)})
	_, err := c.Write(b)
	return err
}

func (r *tapeRecorder) heard(all []reply) {
	var b []byte
	for _, m := range all {
		b = append(b, raw(m.kind, string(m.body))...)
	}
	if len(b) > 0 {
		r.tape = append(r.tape, piece{false, b})
	}
}
