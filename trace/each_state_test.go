package trace

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// Each event comes with whose it is, across segments and late replies, and
// sessions that have ended are forgotten.
func TestEachWithState(t *testing.T) {
	var out bytes.Buffer
	live := map[uint64]State{}
	w, err := NewWriter(&out, Header{Engine: "postgres", MadeBy: ByCapture, Started: "2026-01-02T03:04:05Z"}, WriterOptions{
		BlockBytes: 100, Now: func() int64 { return 0 },
		States: func() []State {
			var all []State
			for _, s := range live {
				all = append(all, s)
			}
			return all
		},
	})
	must(t, err)
	w.maxBlocks = 4
	intern := func(op Op) uint32 {
		id, err := w.Intern(op, 0, []byte{tokenRaw}, nil)
		must(t, err)
		return id
	}
	at := int64(0)
	add := func(session, ordinal uint64, op Op) {
		at += 1000
		must(t, w.Event(&Event{Session: session, Ordinal: ordinal, Start: at, Shape: intern(op), Sizes: []uint64{SizeNull}}))
	}
	reply := func(session, ordinal uint64) { must(t, w.Reply(session, ordinal, &Reply{Took: 1}, 0)) }
	for session := uint64(1); session <= 20; session++ {
		s := State{Session: session, Start: at, User: fmt.Sprint("user", session), Settings: map[string]string{"application_name": fmt.Sprint("app", session)}}
		live[session] = s
		must(t, w.State(&s))
		for i := range uint64(5) {
			add(session, i, OpQuery)
			if session%2 == 0 {
				must(t, w.Flush())
			}
			reply(session, i)
		}
		add(session, 5, OpEnd)
		reply(session, 5)
		delete(live, session)
	}
	add(99, 0, OpQuery) // nobody said whose
	must(t, w.Close())

	r := NewReader(bytes.NewReader(out.Bytes()), "x")
	n := 0
	must(t, r.EachWithState(func(e *Event, s *State) error {
		n++
		if e.Session == 99 {
			if s != nil {
				return fmt.Errorf("session 99 is of %+v", s)
			}
			return nil
		}
		if s == nil || s.User != fmt.Sprint("user", e.Session) || s.Settings["application_name"] != fmt.Sprint("app", e.Session) {
			return fmt.Errorf("event %d of session %d is of %+v", e.Ordinal, e.Session, s)
		}
		return nil
	}))
	if n != 121 || len(r.Headers()) < 2 {
		t.Errorf("%d events in %d segments", n, len(r.Headers()))
	}

	own := errors.New("mine")
	if err := NewReader(bytes.NewReader(out.Bytes()), "x").EachWithState(func(*Event, *State) error { return own }); !errors.Is(err, own) {
		t.Errorf("%v", err)
	}
}
