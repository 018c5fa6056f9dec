package trace

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestSmoke(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Engine: "postgres", MadeBy: ByCapture, Started: "2026-01-02T03:04:05Z"}, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.Intern(OpQuery, 0, []byte{0, 'Q', 1, 7, 's', 'e', 'l', 'e', 'c', 't', ' ', 2, 1, 1, 0}, func() (string, []uint32) { return "select 0", nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		e := Event{
			Session: 7, Ordinal: uint64(i), Start: int64(i) * 1000000, Shape: id, Sizes: []uint64{SizeOf(1)}, Values: []byte{'0' + byte(i)},
			HasReply: i%3 != 0, Reply: Reply{Took: 5000, Rows: 1, State: 'I'}, RequestEnd: true,
		}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i == 5 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if i%3 == 0 {
			if err := w.Reply(7, uint64(i), &Reply{Took: 900, Status: Error, Reason: "23505"}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := NewReader(bytes.NewReader(out.Bytes()), "x")
	n := 0
	err = r.Each(func(e *Event) error {
		t.Log(e.Session, e.Ordinal, e.Start, e.Took, e.Status, e.Reason, e.Entry.Text, string(e.Values))
		n++
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	t.Log(r.Damage(), r.Complete(), out.Len(), n, w.Totals())
	if n != 10 || !r.Complete() {
		t.Fail()
	}
}
