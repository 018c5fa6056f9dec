package pg

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// twin keeps a Memory beside what a Conversation says.
type twin struct {
	inForce
	asked    map[uint64][]byte
	memory   *Memory
	prepared map[string]uint64
}

func newTwin() *twin {
	return &twin{asked: map[uint64][]byte{}, prepared: map[string]uint64{}, memory: NewMemory(nil, nil, nil, nil)}
}

func (w *twin) Request(r *Request) { w.asked[r.Ordinal] = slices.Clone(r.Bytes) }

func (w *twin) Reply(r *Reply) {
	w.memory.Ask(r.Ordinal, w.asked[r.Ordinal])
	w.memory = w.memory.again()
	e := Ended{r.Outcome, r.Reason, r.Results, r.State}
	if len(w.memory.pending) > 0 {
		w.memory.Answer(r.Ordinal, e)
	} else {
		w.memory.Apply(r.Ordinal, w.asked[r.Ordinal], e)
	}
	delete(w.asked, r.Ordinal)
}

// again is a memory that begins with what m tells, as one does at a checkpoint.
func (m *Memory) again() *Memory {
	sets, open := m.Sets()
	n := NewMemory(m.Statements(), sets, open, m.Pending())
	n.settings.failed, n.settings.saved, n.state = m.settings.failed, m.settings.saved, m.state
	return n
}

func (w *twin) Prepared(name []byte, ordinal uint64, _ []byte) { w.prepared[string(name)] = ordinal }

func (w *twin) Deallocated(name []byte) {
	if name != nil {
		delete(w.prepared, string(name))
		return
	}
	for n := range w.prepared {
		if n != "" {
			delete(w.prepared, n)
		}
	}
}

func (w *twin) check() error {
	got := map[string]uint64{}
	for _, s := range w.memory.Statements() {
		got[string(s.Name)] = s.Ordinal
	}
	if fmt.Sprint(got) != fmt.Sprint(w.prepared) {
		return fmt.Errorf("prepared %v, want %v", got, w.prepared)
	}
	sets, _ := w.memory.Sets()
	if fmt.Sprintf("%q", sets) != fmt.Sprintf("%q", w.sets) {
		return fmt.Errorf("sets %q, want %q", sets, w.sets)
	}
	return nil
}

// What is followed event by event is what was followed byte by byte, wherever
// one begins.
func TestMemoryIsTheConversation(t *testing.T) {
	for _, c := range slices.Concat(statements, conversations) {
		if strings.Contains(c.name, "too long") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w := newTwin()
			conv := NewConversation(w, Options{LoggedIn: true, Ordinal: 1})
			for i, s := range script(t, c.script) {
				f := conv.Client
				if s.dir == '<' {
					f = conv.Server
				}
				if f(s.bytes, int64(i)) != nil {
					return
				}
				if conv.Pending() == 0 {
					if err := w.check(); err != nil {
						t.Errorf("after step %d: %v", i, err)
					}
				}
			}
		})
	}
}
