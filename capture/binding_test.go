package capture

import (
	"bytes"
	"testing"
)

const (
	bothOffered  = "\x00\x00\x00\x0aSCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00\x00"
	plainOffered = "\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00"
)

// seen gives the server's first bytes in pieces of a size, and returns what the
// client would see of them.
func seen(sent []byte, size int) (shown []byte, done, offered bool) {
	u := &unbound{onOffer: func() { offered = true }}
	for len(sent) > 0 && !u.done {
		n := min(size, len(sent))
		u.head = append(u.head, sent[:n]...)
		sent = sent[n:]
		u.look()
	}
	return append(u.head, sent...), u.done, offered
}

// PG-18: the offer is taken out of the one message that makes it, however the
// bytes come, and nothing else is touched.
func TestUnbound(t *testing.T) {
	version, notice := raw('v', "\x00\x03\x00\x02\x00\x00\x00\x00"), raw('N', "SNOTICE\x00\x00")
	for name, c := range map[string]struct {
		sent, shown []byte
		done        bool
	}{
		"both":              {raw('R', bothOffered), raw('R', plainOffered), true},
		"after others":      {join(version, notice, raw('R', bothOffered)), join(version, notice, raw('R', plainOffered)), true},
		"with what follows": {join(raw('R', bothOffered), raw('R', bothOffered)), join(raw('R', plainOffered), raw('R', bothOffered)), true},
		"plain":             {raw('R', plainOffered), raw('R', plainOffered), true},
		"only bound":        {raw('R', "\x00\x00\x00\x0aSCRAM-SHA-256-PLUS\x00\x00"), raw('R', "\x00\x00\x00\x0a\x00"), true},
		"another login":     {raw('R', "\x00\x00\x00\x05salt"), raw('R', "\x00\x00\x00\x05salt"), true},
		"logged in":         {raw('R', "\x00\x00\x00\x00"), raw('R', "\x00\x00\x00\x00"), true},
		"error":             {raw('E', bothOffered), raw('E', bothOffered), true},
		"no end":            {raw('R', "\x00\x00\x00\x0aSCRAM-SHA-256-PLUS"), raw('R', "\x00\x00\x00\x0aSCRAM-SHA-256-PLUS"), true},
		"half":              {raw('R', bothOffered)[:20], raw('R', bothOffered)[:20], false},
		"impossible length": {[]byte("R\xff\xff\xff\xff\x00\x00\x00\x0a"), []byte("R\xff\xff\xff\xff\x00\x00\x00\x0a"), true},
		"too short":         {[]byte("R\x00\x00\x00\x03\x00"), []byte("R\x00\x00\x00\x03\x00"), true},
	} {
		for size := 1; size <= len(c.sent); size++ {
			shown, done, offered := seen(bytes.Clone(c.sent), size)
			if !bytes.Equal(shown, c.shown) || done != c.done || offered == bytes.Equal(c.sent, c.shown) {
				t.Errorf("%s, in pieces of %d: %q, done %v, offered %v", name, size, shown, done, offered)
			}
		}
	}
}

func join(all ...[]byte) []byte { return bytes.Join(all, nil) }

// Whatever a server sends, its pieces make no difference, and no more is held
// than a bound.
func FuzzUnbound(f *testing.F) {
	f.Add(raw('R', bothOffered), 1)
	f.Add(join(raw('N', "x\x00"), raw('R', plainOffered)), 7)
	f.Fuzz(func(t *testing.T, sent []byte, size int) {
		whole, done, offered := seen(bytes.Clone(sent), len(sent)+1)
		pieces, done2, offered2 := seen(bytes.Clone(sent), max(1, size%64))
		if !bytes.Equal(whole, pieces) || done != done2 || offered != offered2 {
			t.Errorf("%q: %q or %q", sent, whole, pieces)
		}
		if !done && len(sent) > loginHead+5 {
			t.Errorf("%d bytes are held", len(sent))
		}
		if !offered && !bytes.Equal(whole, sent) {
			t.Errorf("%q became %q", sent, whole)
		}
	})
}
