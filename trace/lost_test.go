package trace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

var errDiskFull = errors.New("no space left on device")

// fullDisk takes so many bytes and then fails. A torn one keeps what fitted of
// the write that failed, as a plain file does; the other keeps nothing of it,
// as File does.
type fullDisk struct {
	bytes.Buffer
	room int
	torn bool
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) <= d.room {
		d.room -= len(p)
		return d.Buffer.Write(p)
	}
	n := 0
	if d.torn {
		n, _ = d.Buffer.Write(p[:d.room])
		d.room = 0
	}
	return n, errDiskFull
}

// While the disk is full every event is either in the file or among Lost, and
// never both. Afterwards writing goes on in a new segment, with gaps that name
// what is missing, and late replies of events that made it to the disk.
func TestDiskFull(t *testing.T) {
	for _, torn := range []bool{false, true} {
		t.Run(fmt.Sprint("torn ", torn), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { diskFull(t, torn) })
		})
	}
}

func diskFull(t *rapid.T, torn bool) {
	disk := &fullDisk{room: 1 << 30, torn: torn}
	w, err := NewWriter(disk, Header{Trace: traceID, Engine: "postgres", Started: "1970-01-01T00:00:01Z"},
		WriterOptions{BlockBytes: 200, Now: func() int64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	disk.room = rapid.IntRange(0, 1500).Draw(t, "room")
	lost := map[[2]uint64]int{}
	replied := map[[2]uint64]bool{}
	var next [3]uint64
	for step := range rapid.IntRange(1, 80).Draw(t, "steps") {
		session := rapid.Uint64Range(0, 2).Draw(t, "session")
		switch rapid.IntRange(0, 5).Draw(t, "step") {
		case 0:
			_ = w.Flush()
		case 1:
			disk.room = rapid.SampledFrom([]int{0, 100, 300, 700, 3000, 1 << 20}).Draw(t, "room")
			restart(t, w, lost)
		case 2:
			ordinal := rapid.Uint64Range(0, next[session]).Draw(t, "ordinal")
			if ordinal < next[session] && !replied[[2]uint64{session, ordinal}] {
				replied[[2]uint64{session, ordinal}] = true
				if err := w.Reply(session, ordinal, &Reply{Took: 5000, Status: Error, Reason: fmt.Sprint(ordinal)}, 0); err != nil {
					t.Fatal(err)
				}
			}
		default:
			id, err := w.Intern(OpQuery, 0, []byte{tokenLiteral, 1, byte(step)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			was := w.Failed()
			err = w.Event(&Event{Session: session, Ordinal: next[session], Shape: id, Start: int64(step) * 1e6})
			if was != nil && err == nil || err != nil && !errors.Is(err, errDiskFull) {
				t.Fatalf("after %v: %v", was, err)
			}
			next[session]++
		}
	}
	disk.room = 1 << 20
	restart(t, w, lost)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkDiskFull(t, disk, w, next, lost, replied)
}

// restart takes down what is lost and tries to go on.
func restart(t *rapid.T, w *Writer, lost map[[2]uint64]int) {
	gaps := append([]Gap(nil), w.Lost()...)
	failed := w.Failed()
	if err := w.Restart(); err != nil {
		if w.Failed() == nil || len(w.Lost()) != len(gaps) {
			t.Fatalf("restart failed with %v, lost %v became %v", err, gaps, w.Lost())
		}
		return
	}
	if len(w.Lost()) > 0 || failed == nil && len(gaps) > 0 {
		t.Fatalf("lost after a restart: %v", w.Lost())
	}
	for _, g := range gaps {
		for o := g.First; o <= g.Last; o++ {
			lost[[2]uint64{g.Session, o}]++
		}
	}
}

func checkDiskFull(t *rapid.T, disk *fullDisk, w *Writer, next [3]uint64, lost map[[2]uint64]int, replied map[[2]uint64]bool) {
	c, err := collect(NewReader(bytes.NewReader(disk.Bytes()), "x"))
	if err != nil {
		t.Fatal(err)
	}
	if !disk.torn && !c.whole {
		t.Fatalf("not whole: %v", c.damage)
	}
	seen := map[[2]uint64]int{}
	for _, g := range c.gaps {
		for o := g.First; o <= g.Last; o++ {
			seen[[2]uint64{g.Session, o}]--
		}
	}
	for k, n := range lost {
		if n != 1 || seen[k] != -1 {
			t.Fatalf("event %v: %d times lost, %d times in a gap", k, n, -seen[k])
		}
	}
	events := 0
	for id, read := range c.events {
		for _, e := range read {
			k := [2]uint64{id, e.Ordinal}
			seen[k]++
			events++
			if e.HasReply != replied[k] || e.HasReply && e.Reason != fmt.Sprint(e.Ordinal) {
				t.Fatalf("event %v: reply %v %q, given %v", k, e.HasReply, e.Reason, replied[k])
			}
		}
	}
	for id, n := range next {
		for o := range n {
			k := [2]uint64{uint64(id), o}
			if (seen[k] == 1) == (lost[k] == 1) {
				t.Fatalf("event %v: read %d times, lost %d times", k, seen[k], lost[k])
			}
		}
	}
	if got := w.Totals(); got.Events != uint64(events) || got.Missing != uint64(len(lost)) {
		t.Fatalf("totals %+v; the file has %d events, %d are lost", got, events, len(lost))
	}
}

// With more sessions than can be named the rest is counted.
func TestLostIsBounded(t *testing.T) {
	var l lostEvents
	for i := range uint64(maxLost + 1000) {
		l.add(i+1, 0, 5, errDiskFull)
	}
	if len(l.gaps) != maxLost+1 {
		t.Fatalf("%d gaps", len(l.gaps))
	}
	if g := l.gaps[maxLost]; g.Session != 0 || g.First != 1 || g.Last != 1000 {
		t.Errorf("the last gap is %+v", g)
	}
}

// Events that were left out on purpose are no loss, to whoever counts.
func TestLeftOutIsNoLoss(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Engine: "postgres", MadeBy: ByCapture}, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.Intern(OpQuery, 0, []byte{1, 1, 'x'}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ordinal := range []uint64{0, 10, 20} {
		if err := w.Event(&Event{Session: 7, Ordinal: ordinal, Start: 1, Shape: id}); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range []Gap{{Session: 7, First: 1, Last: 9, Why: "off", LeftOut: true}, {Session: 7, First: 11, Last: 19, Why: "behind"}} {
		if err := w.Gap(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := w.Totals(); got.Gaps != 1 || got.Missing != 9 || got.LeftOut != 9 {
		t.Errorf("the writer counts %+v", got)
	}
	file := filepath.Join(t.TempDir(), "t")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := Info(file)
	if err != nil || info.Gaps != 1 || info.Missing != 9 || info.LeftOut != 9 {
		t.Errorf("info counts %+v, %v", info, err)
	}
	report, err := Verify(file)
	if err != nil || !report.OK() || report.LeftOut != 9 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	r := NewReader(bytes.NewReader(b.Bytes()), "memory")
	if err := r.Each(func(*Event) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if gaps, events := r.Gaps(); gaps != 1 || events != 9 || r.LeftOut() != 9 {
		t.Errorf("the reader counts %d gaps, %d events, %d left out", gaps, events, r.LeftOut())
	}
}
