package capture

import (
	"bytes"
	"sync"
	"testing"

	"github.com/retrace-db/retrace/trace"
)

// memory is a trace in memory whose writing can be made to fail or to wait.
type memory struct {
	mu   sync.Mutex
	b    bytes.Buffer
	wait func()       // called before each write
	fail func() error // asked before each write
}

func (m *memory) Write(p []byte) (int, error) {
	m.mu.Lock()
	wait, fail := m.wait, m.fail
	m.mu.Unlock()
	if wait != nil {
		wait()
	}
	if fail != nil {
		if err := fail(); err != nil {
			return 0, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.b.Write(p)
}

// recording is a recorder and the trace it writes.
type recording struct {
	*Recorder
	t    testing.TB
	out  *memory
	once sync.Once
}

func newRecording(t testing.TB, change ...func(*RecorderOptions)) *recording {
	t.Helper()
	m := &memory{}
	o := RecorderOptions{Out: m, Header: trace.Header{Engine: "postgres", MadeBy: trace.ByCapture}}
	for _, c := range change {
		c(&o)
	}
	r := &recording{Recorder: NewRecorder(o), t: t, out: m}
	t.Cleanup(r.close)
	return r
}

func (r *recording) close() {
	r.once.Do(func() {
		if err := r.Recorder.Close(); err != nil {
			r.t.Logf("closing the recorder: %v", err)
		}
	})
}

// events ends the recording and reads it back, each session's events in order.
func (r *recording) events() (map[uint64][]trace.Event, []trace.Gap) {
	r.t.Helper()
	r.close()
	all := map[uint64][]trace.Event{}
	in := trace.NewReader(bytes.NewReader(r.out.b.Bytes()), "memory")
	err := in.Each(func(e *trace.Event) error {
		c := *e
		c.Sizes, c.Values = append([]uint64(nil), e.Sizes...), append([]byte(nil), e.Values...)
		all[e.Session] = append(all[e.Session], c)
		return nil
	})
	if err != nil {
		r.t.Fatalf("reading the trace: %v", err)
	}
	var gaps []trace.Gap
	in = trace.NewReader(bytes.NewReader(r.out.b.Bytes()), "memory")
	for {
		var b trace.Batch
		if err := in.Next(&b); err != nil {
			break
		}
		gaps = append(gaps, b.Gaps...)
	}
	return all, gaps
}
