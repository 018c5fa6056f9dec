package replay

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrace-db/retrace/trace"
)

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := record{
			kind: kindEvent, op: trace.OpExecute, status: trace.Error, state: 'E', flags: flagRequestEnd, end: skipRedacted,
			ordinal: rapid.Uint64().Draw(t, "ordinal"), session: rapid.Uint64().Draw(t, "session"), start: rapid.Int64().Draw(t, "start"),
			settled: rapid.Uint64().Draw(t, "settled"), rows: rapid.Uint64().Draw(t, "rows"), shape: entryRef{7, 9},
			bytes: rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "bytes"),
		}
		b := append(want.encode(nil), 1, 2, 3)
		if n := recordLength(b); n != len(b)-3 || n != want.size() {
			t.Fatalf("length %d of %d", n, len(b)-3)
		}
		var got record
		got.decode(b)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})
}

// Whatever is pushed comes out in order and whole, through memory and the spill
// file, and the file's chunks are used again.
func TestQueueKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := &spill{dir: os.TempDir()}
		src := &source{wake: make(chan struct{}, 1)}
		queues := make([]*queue, 3)
		pushed, popped := make([]uint64, 3), make([]uint64, 3)
		for i := range queues {
			queues[i] = &queue{spill: file, source: src, wake: func() {}}
		}
		var scratch [chunkSize]byte
		size := func(n uint64) int { return int(n * 7919 % 30000) }
		pop := func(i int) bool {
			var r record
			have, err := queues[i].peek(&r)
			if err != nil {
				t.Fatal(err)
			}
			if have != ready {
				return false
			}
			if r.ordinal != popped[i] || len(r.bytes) != size(r.ordinal) {
				t.Fatalf("queue %d: record %d of %d bytes, want %d", i, r.ordinal, len(r.bytes), popped[i])
			}
			queues[i].advance(&r)
			popped[i]++
			return true
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			i := rapid.IntRange(0, 2).Draw(t, "queue")
			if rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				pop(i)
				continue
			}
			r := record{kind: kindEvent, ordinal: pushed[i], bytes: make([]byte, size(pushed[i]))}
			if err := queues[i].push(r.encode(nil), sessionMemory, &scratch); err != nil {
				t.Fatal(err)
			}
			pushed[i]++
		}
		for i, q := range queues {
			q.close()
			for pop(i) {
			}
			if popped[i] != pushed[i] {
				t.Fatalf("queue %d: %d of %d came out", i, popped[i], pushed[i])
			}
		}
		if src.queued.Load() != 0 {
			t.Fatalf("%d bytes are still counted", src.queued.Load())
		}
		if int(file.next) != len(file.free) {
			t.Fatalf("%d chunks, %d free", file.next, len(file.free))
		}
		if err := file.close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSpillFileIsPrivateAndNameless(t *testing.T) {
	dir := t.TempDir()
	s := &spill{dir: dir}
	if _, _, err := s.reserve(); err != nil {
		t.Fatal(err)
	}
	defer s.close()
	info, err := s.file.Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the folder holds %v", left)
	}
}

// One slow session must not make the replay hold what the fast ones do not
// need, or what it needs itself, in memory.
func TestSlowSessionSpills(t *testing.T) {
	const statements = 200_000
	tp := newTape(t)
	slow, fast := tp.session(0, nil), tp.session(0, nil)
	for n := range statements {
		at := time.Duration(n+1) * ms
		slow.query(at, ms/2, "select slow")
		if n%1000 == 999 {
			fast.query(at, ms/2, "select fast")
		}
	}
	slow.end(time.Hour)
	fast.end(time.Hour)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	count := 0
	var p *player
	f := &fake{work: func(sql string) time.Duration {
		if sql == "select fast" {
			return 0
		}
		if count++; count == 100 { // the fast session is at its end by now
			time.Sleep(300 * ms)
			runtime.GC()
			runtime.ReadMemStats(&during)
		}
		return 0
	}}
	f.forget = true
	sum := play(t, tp, f, func(o *Options) { o.Started = func(g *Progress) { p = g.p } })
	mustTally(t, sum, Tally{Captured: statements + statements/1000, OK: statements + statements/1000})
	grown := int64(during.HeapInuse) - int64(before.HeapInuse)
	queued := int64(statements) * int64(recordHeader+len(query("select slow")))
	t.Logf("%d MB queued, the heap grew by %d MB, the spill file to %d MB", queued>>20, grown>>20, int64(p.spill.peak)*chunkSize>>20)
	if int64(p.spill.peak)*chunkSize < queued/2 {
		t.Errorf("only %d chunks were in the spill file", p.spill.peak)
	}
	if grown > 12<<20 { // histograms, reader and the queues' memory
		t.Errorf("the heap grew by %d bytes", grown)
	}
}
