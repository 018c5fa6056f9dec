package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/retrace-db/retrace/trace"
)

// writeTrace writes made-up events of 32 sessions and many fingerprints.
func writeTrace(t testing.TB, w io.Writer, h trace.Header, events, fingerprints int) {
	t.Helper()
	out, err := trace.NewWriter(w, h, trace.WriterOptions{Due: h.Run != nil, NoValues: h.Run != nil, Now: func() int64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var clock [32]int64
	ordinal := [32]uint64{}
	for i := range events {
		s := i % len(clock)
		sql := fmt.Sprintf("select abalance from pgbench_accounts_%d where aid = $1", r.IntN(fingerprints))
		shape := append([]byte{0, 'B', 1, byte(len(sql))}, sql+"\x03"...) // a message, literal bytes, one parameter
		id, err := out.Intern(trace.OpExecute, 0, shape, func() (string, []uint32) { return sql, nil })
		if err != nil {
			t.Fatal(err)
		}
		clock[s] += 10_000 + r.Int64N(200_000)
		e := trace.Event{
			Session: uint64(s), Ordinal: ordinal[s], Start: clock[s], Shape: id, RequestEnd: true, HasReply: true,
			Reply: trace.Reply{Took: 50_000 + r.Int64N(200_000), Rows: 1, Results: 1, Bytes: 80, State: 'I'},
		}
		if h.Run == nil {
			e.Sizes, e.Values = []uint64{trace.SizeOf(4)}, []byte{byte(i), byte(i >> 8), byte(i >> 16), 0}
		} else {
			e.HasDue, e.Due = true, e.Start
		}
		clock[s] += e.Took
		ordinal[s]++
		if err := out.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

var (
	captured = trace.Header{Trace: fmt.Sprintf("%032x", 0xaa), Engine: "postgres", MadeBy: trace.ByCapture, Started: "2026-01-02T03:04:05Z"}
	replayed = trace.Header{
		Trace: fmt.Sprintf("%032x", 0xbb), Engine: "postgres", MadeBy: trace.ByReplay, Started: "2026-01-02T03:04:05Z",
		Run: &trace.Run{Source: captured.Trace, Pace: "original", Speed: 1, Target: "postgres://db"},
	}
)

func analyzed(t testing.TB, readers ...*trace.Reader) *Report {
	t.Helper()
	a := New(Options{})
	for i, r := range readers {
		if _, err := a.Add(fmt.Sprint("run ", i), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	return a.Report()
}

func TestTracesFromFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, h trace.Header) string {
		var b bytes.Buffer
		writeTrace(t, &b, h, 20_000, 50)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	open := func(path string) *trace.Reader {
		r, err := trace.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := write("a", captured), write("b", replayed)
	r := analyzed(t, open(a), open(b))
	if len(r.Fingerprints) != 50 || r.Total.Runs[0].Count != 20_000 || r.Total.Runs[1].Response.Count != 20_000 {
		t.Errorf("%d fingerprints, total %+v", len(r.Fingerprints), r.Total)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "vantage_points" {
		t.Errorf("warnings %+v", r.Warnings)
	}
	if !reflect.DeepEqual(*r.Total.Runs[0].Service, *r.Total.Runs[1].Service) {
		t.Error("the same events, other times")
	}
	whole, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	piped := analyzed(t, trace.NewReader(bytes.NewReader(whole), "pipe"))
	if !reflect.DeepEqual(piped.Fingerprints, analyzed(t, open(a)).Fingerprints) {
		t.Error("a pipe gives another report than a file")
	}
}

// A torn trace gives the figures of what is whole, and says that it is torn.
func TestTornTrace(t *testing.T) {
	var b bytes.Buffer
	writeTrace(t, &b, captured, 50_000, 50)
	r := analyzed(t, trace.NewReader(bytes.NewReader(b.Bytes()[:b.Len()*2/3]), "torn"))
	if n := r.Total.Runs[0].Count; n == 0 || n >= 50_000 {
		t.Errorf("%d statements", n)
	}
	if r.Runs[0].Complete || warned(r, "damaged") == nil && warned(r, "incomplete") == nil {
		t.Errorf("run %+v, warnings %v", r.Runs[0], r.Warnings)
	}
}

// Whatever the bytes, there is a report or an error, and the report's sums hold.
func FuzzAnalyze(f *testing.F) {
	for _, h := range []trace.Header{captured, replayed} {
		var b bytes.Buffer
		writeTrace(f, &b, h, 300, 3)
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()/2])
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		a := New(Options{})
		for _, label := range []string{"fuzz", "again", "other"} {
			_, _ = a.Add(label, trace.NewReader(bytes.NewReader(in), "fuzz"), nil)
			if label == "again" {
				in = in[:len(in)*3/4] // what is torn is compared with what is not
			}
		}
		r := a.Report()
		accounts(t, r)
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
		if err := (Text{Escape: quoted4}).Write(io.Discard, r); err != nil {
			t.Error(err)
		}
		if v := *r.Verdict; v == Improved || v == Degraded {
			t.Errorf("against itself it is %s", v)
		}
	})
}

// BenchmarkAnalyze reads a trace from memory: the budget is a million
// statements a second on one core, and memory that depends on fingerprints.
func BenchmarkAnalyze(b *testing.B) {
	const events = 2_000_000
	for _, h := range []trace.Header{captured, replayed} {
		var file bytes.Buffer
		writeTrace(b, &file, h, events, 1000)
		b.Run(h.MadeBy, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				analyzed(b, trace.NewReader(bytes.NewReader(file.Bytes()), "bench"))
			}
			b.ReportMetric(float64(b.N)*events/b.Elapsed().Seconds(), "stmt/s")
			runtime.GC()
		})
	}
}
