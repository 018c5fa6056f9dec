package capture

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "record the tapes anew from a real server, and accept what the tap makes of them")

// piece is what one read brought on one side.
type piece struct {
	client bool
	bytes  []byte
}

// A tape is a session as it went by: one line per piece, C or S and a quoted
// string.

func readTape(t testing.TB, path string) []piece {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var tape []piece
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		side, quoted, _ := strings.Cut(lines.Text(), " ")
		b, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		tape = append(tape, piece{side == "C", []byte(b)})
	}
	return tape
}

func writeTape(t testing.TB, path string, tape []piece) {
	t.Helper()
	var b bytes.Buffer
	for _, p := range tape {
		side := "S"
		if p.client {
			side = "C"
		}
		fmt.Fprintf(&b, "%s %s\n", side, strconv.QuoteToASCII(string(p.bytes)))
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// bareRecorder collects rows and encodes nothing.
func bareRecorder(limit int64) *Recorder {
	r := &Recorder{ids: 1 << counterBits}
	r.queue.limit, r.queue.step = limit, 1
	return r
}

// listen feeds a tap, cutting one piece in two if cut is not negative.
func listen(r *Recorder, tape []piece, cutPiece, cutByte int) []string {
	t := r.session(nil)
	for i, p := range tape {
		now := int64(1000 * (i + 1))
		feed := t.server
		if p.client {
			feed = t.client
		}
		if i == cutPiece {
			feed(p.bytes[:cutByte], now)
			p.bytes = p.bytes[cutByte:]
		}
		feed(p.bytes, now)
	}
	t.end(int64(1000*(len(tape)+1)), clientGone)
	return rowsOf(r)
}

func rowsOf(r *Recorder) []string {
	var all []string
	for i := range r.stripes {
		b := r.stripes[i].take(batch{})
		for j := range b.rows {
			all = append(all, b.rows[j].text())
		}
		r.stripes[i].batch = b.reset()
	}
	return all
}

var kindNames = map[rowKind]string{
	rowStarted: "started", rowRequest: "request", rowReply: "reply", rowPrepared: "prepared",
	rowDeallocated: "deallocated", rowSets: "sets", rowFault: "fault", rowCancel: "cancel", rowGap: "gap", rowEnded: "ended",
}

func (r *row) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", kindNames[r.kind])
	switch r.kind {
	case rowStarted:
		fmt.Fprintf(&b, " %s@%s %v", r.startup.User, r.startup.Database, r.startup.Settings)
	case rowRequest:
		fmt.Fprintf(&b, " %d %c at %d flags %03b of %d size %d %s", r.ordinal, r.op, r.at, r.flags, int64(r.prepare), r.size, brief(r.data))
	case rowReply:
		fmt.Fprintf(&b, " %d %d…%d rows %d results %d bytes %d outcome %d %s state %q of %d", r.ordinal, r.at, r.done, r.rows, r.results, r.size, r.outcome, r.reason, r.state, int64(r.prepare))
	case rowPrepared:
		fmt.Fprintf(&b, " %q by %d %s", r.data[:r.name], r.ordinal, brief(r.data[r.name:]))
	case rowDeallocated:
		fmt.Fprintf(&b, " %q flags %b", r.data, r.flags)
	case rowGap, rowFault:
		fmt.Fprintf(&b, " %d…%d %s", r.ordinal, r.prepare, r.reason)
	}
	return b.String()
}

func brief(b []byte) string {
	if len(b) > 200 {
		return strconv.QuoteToASCII(string(b[:200])) + fmt.Sprintf("…%d", len(b))
	}
	return strconv.QuoteToASCII(string(b))
}

// What the tap makes of a session does not depend on how the bytes were cut.
func TestTapSplitAtEveryByte(t *testing.T) {
	tapes, err := filepath.Glob("testdata/*.tape")
	if err != nil || len(tapes) < 15 {
		t.Fatalf("%d tapes (%v)", len(tapes), err)
	}
	for _, path := range tapes {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".tape"), func(t *testing.T) {
			t.Parallel()
			tape := readTape(t, path)
			r := bareRecorder(1 << 30)
			whole := listen(r, tape, -1, 0)
			golden(t, strings.TrimSuffix(path, ".tape")+".rows", whole)
			for i, p := range tape {
				for at := 1; at < len(p.bytes); at++ {
					if got := listen(r, tape, i, at); !equal(got, whole) {
						t.Fatalf("piece %d cut at byte %d:\n%s\nwhole:\n%s", i, at, strings.Join(got, "\n"), strings.Join(whole, "\n"))
					}
				}
			}
		})
	}
}

func equal(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

func golden(t *testing.T, path string, got []string) {
	t.Helper()
	text := strings.Join(got, "\n") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s:\ngot:\n%s\nwant:\n%s", path, text, want)
	}
}
