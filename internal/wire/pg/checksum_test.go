package pg

import (
	"runtime"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// sums are the checksums of the replies to a script, which must not depend on
// where the stream is cut.
func sums(t *testing.T, o Options, text string) []uint64 {
	t.Helper()
	steps := script(t, text)
	longest := 0
	for _, s := range steps {
		longest = max(longest, len(s.bytes))
	}
	var first []uint64
	for cut := range longest {
		l := &log{}
		if err := play(t, l, o, steps, cut, "gone"); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		var all []uint64
		for _, r := range l.replies {
			all = append(all, r.Checksum)
		}
		if cut == 0 {
			first = all
		}
		for i := range first {
			if all[i] != first[i] {
				t.Fatalf("cut at %d: reply %d has %x, uncut %x", cut, i, all[i], first[i])
			}
		}
	}
	l := &log{}
	if err := bytewise(l, o, steps, "gone"); err != nil || l.replies[0].Checksum != first[0] {
		t.Fatalf("byte by byte: %x, %v", l.replies[0].Checksum, err)
	}
	return first
}

func TestChecksum(t *testing.T) {
	o := Options{LoggedIn: true, Checksum: true}
	// Published vectors of XXH64: "a", "abc", "".
	a, abc, empty := uint64(0xd24ec4f1a98c6e5b), uint64(0x44bc2cf5ad770999), uint64(0xef46db3751d8e999)
	// One column, in a DataRow: the count, the length and the bytes.
	row := func(value string) uint64 {
		return xxhash.Sum64(append([]byte{0, 1, 0, 0, 0, byte(len(value))}, value...))
	}
	for _, c := range []struct {
		name, text string
		want       []uint64
	}{
		{"COPY out", "> Q:copy t to stdout\n< H | d:a | d:abc | d: | c | C:COPY 3 | Z:I", []uint64{a + abc + empty}},
		{"rows", "> Q:select\n< T | D:x | D:yy | C:SELECT 2 | Z:I", []uint64{row("x") + row("yy")}},
		{"in another order", "> Q:select\n< T | D:yy | D:x | C:SELECT 2 | Z:I", []uint64{row("x") + row("yy")}},
		{"twice the same row is not none", "> Q:select\n< T | D:x | D:x | C:SELECT 2 | Z:I", []uint64{2 * row("x")}},
		{"several results of a query", "> Q:select; select\n< T | D:x | C:SELECT 1 | T | D:z | C:SELECT 1 | Z:I", []uint64{row("x") + row("z")}},
		{"no rows", "> Q:update\n< C:UPDATE 7 | Z:I", []uint64{0}},
		{"each of a pipeline", "> B::s:1 | E: | B::s:2 | E: | S\n< 2 | D:x | C:SELECT 1 | 2 | D:yy | C:SELECT 1 | Z:I", []uint64{row("x"), row("yy")}},
	} {
		got := sums(t, o, c.text)
		for i, want := range c.want {
			if got[i] != want {
				t.Errorf("%s: reply %d has %x, want %x", c.name, i, got[i], want)
			}
		}
	}
	if got := sums(t, Options{LoggedIn: true}, "> Q:select\n< T | D:x | C:SELECT 1 | Z:I"); got[0] != 0 {
		t.Errorf("%x where none was asked for", got[0])
	}
}

// A row of 300 MB is hashed as it comes.
func TestChecksumOfALargeRow(t *testing.T) {
	const size = 300 << 20
	l := &log{}
	c := NewConversation(l, Options{LoggedIn: true, Checksum: true})
	feed(t, c, script(t, "> Q:select\n< T"))
	piece := make([]byte, 64<<10)
	want := xxhash.New()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := size + 4
	if err := c.Server([]byte{'D', byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, 1); err != nil {
		t.Fatal(err)
	}
	for range size / len(piece) {
		_, _ = want.Write(piece)
		if err := c.Server(piece, 1); err != nil {
			t.Fatal(err)
		}
	}
	feed(t, c, script(t, "< C:SELECT 1 | Z:I"))
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated for a row of %d", got, size)
	}
	if l.replies[0].Checksum != want.Sum64() {
		t.Errorf("%x, want %x", l.replies[0].Checksum, want.Sum64())
	}
}
