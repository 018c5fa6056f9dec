package capture

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/retrace-db/retrace/trace"
)

// A recording goes on in another file by size and by time, and each file opens
// with the sessions as they are: what they have prepared, set, and not answered.
func TestRotate(t *testing.T) {
	d := newDesk(t)
	var files []*memory
	fail := false
	d.options.Rotate = Rotate{Bytes: 1 << 10, Every: time.Minute, Next: func() (io.Writer, error) {
		if fail {
			return nil, errors.New("no space left on device")
		}
		files = append(files, &memory{})
		return files[len(files)-1], nil
	}}
	s := d.login()
	ask := func(request []byte, reply []byte) {
		s.client(request, d.tick())
		s.server(reply, d.tick())
	}
	ask(msgs(parse("p", "select $1"), syncMsg), append(raw('1', ""), raw('Z', "I")...))
	ask(msgs(query("set search_path = a")), append(raw('C', "SET\x00"), raw('Z', "I")...))
	d.drain(true) // does not wait for the server's settings
	d.now += int64(time.Minute)
	d.drain(false) // by time
	s.client(msgs(parse("q", "select 2"), syncMsg), d.tick())
	d.drain(false)
	d.now += int64(time.Minute)
	fail = true
	d.drain(false)
	if d.encoder.broken == nil {
		t.Fatal("rotation into nowhere was no trouble")
	}
	fail = false
	d.now += int64(2 * time.Second)
	d.drain(false)
	s.server(append(raw('1', ""), raw('Z', "I")...), d.tick())
	d.drain(true)
	d.encoder.close()
	if d.encoder.broken != nil || len(files) != 2 {
		t.Fatalf("%v, %d files after the first", d.encoder.broken, len(files))
	}
	for i, want := range []struct{ statements, sets, pending int }{{1, 1, 0}, {1, 1, 1}} {
		r := trace.NewReader(bytes.NewReader(files[i].b.Bytes()), "file")
		var b trace.Batch
		if err := r.Next(&b); err != nil || len(b.States) != 1 {
			t.Fatalf("file %d: %v, begins with %+v", i, err, b)
		}
		st := b.States[0]
		if len(st.Statements) != want.statements || len(st.Sets) != want.sets || len(st.Pending) != want.pending {
			t.Errorf("file %d begins with %+v", i, st)
		}
	}
}
