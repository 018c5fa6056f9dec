package trace

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzScan reads anything at all: it must not panic, hang, or take memory out
// of proportion, and what it gives must be fit for use. Checksums are made
// good first where asked, so that the fuzzer gets behind them.
func FuzzScan(f *testing.F) {
	b := plain(f, Header{}, WriterOptions{Due: true, Diverged: true}, 3)
	f.Add(b, false)
	f.Add(b, true)
	f.Add(b[:len(b)/2], false)
	f.Add(plain(f, Header{Run: &Run{Source: traceID}}, WriterOptions{NoValues: true}, 2), true)
	f.Add(mixedRolled(f), true)
	cases, good := forgedCases(f)
	for _, c := range cases {
		f.Add(c.segment(f, good), true)
	}
	f.Add([]byte("\x1f\x8b\x08"), false)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if fix {
			b = fixChecksums(b)
		}
		taken := allocated(func() { scan(t, b) })
		// A zstd block of three bytes may hold 128 KiB, and is unpacked three times here.
		if limit := uint64(64<<20) + uint64(len(b))*256<<10; taken > limit || taken > 2<<30 {
			t.Errorf("%d bytes made the reader allocate %d", len(b), taken)
		}
	})
}

// scan reads b as a pipe and as a file.
func scan(t *testing.T, b []byte) {
	r := NewReader(bytes.NewReader(b), "fuzz")
	err := r.Each(fit)
	if errors.Is(err, errUnfit) {
		t.Fatal(err)
	}
	_ = r.Close()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _ = Verify(path)
	_, _ = Info(path)
}

var errUnfit = errors.New("unfit event")

// fit checks what every consumer relies on.
func fit(e *Event) error {
	if e.Entry == nil || e.Took < 0 || e.Tail < 0 || e.Tail > e.Took || e.End() < e.Start || !e.HasReply && e.Took != 0 {
		return errUnfit
	}
	sum := 0
	for _, n := range e.Sizes {
		if n > SizeRedacted {
			sum += int(n - SizeOf(0))
		}
	}
	if sum != len(e.Values) || e.Sizes != nil && len(e.Sizes) != e.Entry.Holes {
		return errUnfit
	}
	for p, n := e.Entry, 0; p != nil; p, n = p.Prepare, n+1 {
		if n > maxEntries {
			return errUnfit
		}
	}
	return nil
}

// fixChecksums makes the checksums of what looks like blocks good.
func fixChecksums(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 0; ; {
		k := bytes.Index(b[at:], magic[:])
		if k < 0 || len(b)-at-k < headerSize {
			return b
		}
		at += k
		head := b[at:]
		stored := uint32(head[8]) | uint32(head[9])<<8 | uint32(head[10])<<16 | uint32(head[11])<<24
		if uint64(stored) <= uint64(len(head)-headerSize) {
			put32(head[56:], crcOf(head[headerSize:headerSize+stored]))
		}
		put32(head[60:], crcOf(head[:60]))
		at += headerSize
	}
}
