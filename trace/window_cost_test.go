package trace

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
)

// counted counts what is read of files.
type counted struct {
	readFile
	n *atomic.Int64
}

func (c counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.readFile.ReadAt(p, at)
	c.n.Add(int64(n))
	return n, err
}

// A window of a second reads less than a hundredth of a long trace, with an
// index or without, states included. RETRACE_TRACE_MIB=1024 makes it a gigabyte.
func TestWindowReadsLittle(t *testing.T) {
	mib, _ := strconv.Atoi(os.Getenv("RETRACE_TRACE_MIB"))
	if mib == 0 {
		mib = 256
	}
	if testing.Short() {
		t.Skip("writes 256 MiB")
	}
	path := filepath.Join(t.TempDir(), "long.trace")
	span := longTrace(t, path, int64(mib)<<20)
	info, err := os.Stat(path)
	must(t, err)
	checkCost(t, path, span, info.Size())
	must(t, os.Truncate(path, info.Size()-1)) // no index now
	checkCost(t, path, span, info.Size())
}

func checkCost(t *testing.T, path string, span, size int64) {
	t.Helper()
	for _, at := range []int64{span / 10, span / 2, span * 9 / 10} {
		from := at / 1e9 * 1e9
		r, err := Open(path)
		must(t, err)
		var n atomic.Int64
		r.open = func(path string) (readFile, error) {
			f, err := os.Open(path)
			return counted{f, &n}, err
		}
		r.Options(ReadOptions{From: from, To: from + 1e9})
		events, states := 0, 0
		var b Batch
		for {
			err := r.Next(&b)
			if err == io.EOF {
				break
			}
			must(t, err)
			events, states = events+len(b.Events), states+len(b.States)
		}
		t.Logf("%d events and %d states by reading %d of %d bytes (%.3f %%)", events, states, n.Load(), size, 100*float64(n.Load())/float64(size))
		if n.Load()*100 >= size || events != perSecond || states != longSessions || len(r.Damage()) > 0 {
			t.Errorf("read %d of %d bytes, %d events, %d states, damage %v", n.Load(), size, events, states, r.Damage())
		}
	}
}

const (
	longSessions = 40
	perSecond    = 40
)

// longTrace writes values that do not compress, forty a second, and returns
// how long the trace is.
func longTrace(t *testing.T, path string, size int64) int64 {
	f, err := os.Create(path)
	must(t, err)
	out := bufio.NewWriterSize(f, 1<<20)
	next := make([]uint64, longSessions)
	w, err := NewWriter(out, Header{Trace: traceID, Engine: "postgres", Started: "1970-01-01T00:00:00Z"}, WriterOptions{
		Now: func() int64 { return 0 },
		States: func() []State {
			var all []State
			for i := range next {
				all = append(all, State{
					Session: uint64(i + 1), Ordinal: next[i], User: "u", Transaction: "idle",
					Statements: []Prepared{{Name: []byte("s1"), Message: fmt.Appendf(nil, "P\x00\x00\x00\x20s1\x00select %d\x00", i)}},
				})
			}
			return all
		},
	})
	must(t, err)
	id, err := w.Intern(OpExecute, 0, []byte{tokenRaw}, nil)
	must(t, err)
	random := rand.NewChaCha8([32]byte{})
	value := make([]byte, 4096)
	now := int64(0)
	for i := 0; w.Totals().Bytes < uint64(size); i++ {
		_, _ = random.Read(value)
		s := i % longSessions
		must(t, w.Event(&Event{
			Session: uint64(s + 1), Ordinal: next[s], Start: now, Shape: id, HasReply: true,
			Sizes: []uint64{SizeOf(len(value))}, Values: value, Reply: Reply{Took: 1000, State: 'I'},
		}))
		next[s]++
		now += 1e9 / perSecond
	}
	must(t, w.Close())
	must(t, out.Flush())
	must(t, f.Close())
	return now
}
