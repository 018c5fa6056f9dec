package pg

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzConversation feeds arbitrary bytes to both directions: a byte says whose
// turn it is and how many bytes follow. Nothing may panic, what is kept stays
// bounded, and the calls keep their promises.
func FuzzConversation(f *testing.F) {
	for _, list := range [][]conversation{conversations, statements, logins} {
		for _, c := range list {
			f.Add(c.want == "" || strings.HasPrefix(strings.TrimSpace(c.want), "started"), pack(script(f, c.script)))
		}
	}
	f.Fuzz(func(t *testing.T, login bool, b []byte) {
		s := &strict{t: t, replied: map[uint64]bool{}, asked: map[uint64]bool{}}
		c := NewConversation(s, Options{LoggedIn: !login, Limit: 512})
		fed := 0
		for at := int64(1); len(b) > 0; at++ {
			n := min(int(b[0]>>1), len(b)-1)
			part := bytes.Clone(b[1 : 1+n])
			fed += n
			if b[0]&1 == 0 {
				_ = c.Client(part, at)
			} else {
				_ = c.Server(part, at)
			}
			b = b[1+n:]
			if got := len(c.kept.buf) + len(c.buf) + len(c.held.buf) + len(c.piece) + len(c.client.buf) + len(c.server.buf); got > 4*fed+4096 {
				t.Fatalf("%d bytes kept of %d", got, fed)
			}
			if c.owed.len() > fed || c.events.len() > fed+1 {
				t.Fatalf("%d owed, %d events after %d bytes", c.owed.len(), c.events.len(), fed)
			}
		}
		c.Pending()
		c.Idle()
		c.Close(1<<40, "closed")
		c.Close(1<<40, "closed")
		if c.err == nil {
			s.finish()
		}
	})
}

// pack writes steps as FuzzConversation reads them.
func pack(steps []step) []byte {
	var b []byte
	for _, s := range steps {
		dir := byte(0)
		if s.dir == '<' {
			dir = 1
		}
		for rest := s.bytes; len(rest) > 0; {
			n := min(127, len(rest))
			b = append(append(b, byte(n)<<1|dir), rest[:n]...)
			rest = rest[n:]
		}
	}
	return b
}

// strict is a sink that checks what every caller may rely on.
type strict struct {
	t       *testing.T
	next    uint64
	asked   map[uint64]bool
	replied map[uint64]bool
}

func (s *strict) Started(Startup) {
	if len(s.asked) > 0 {
		s.t.Fatal("started after a request")
	}
}

func (s *strict) Request(r *Request) {
	if r.Ordinal != s.next {
		s.t.Fatalf("ordinal %d, want %d", r.Ordinal, s.next)
	}
	s.next++
	s.asked[r.Ordinal] = true
	if !r.OverLimit && uint64(len(r.Bytes)) != r.Size || r.OverLimit && (r.Bytes != nil || len(r.Text) > prefixLen) {
		s.t.Fatalf("size %d, %d bytes, over %v", r.Size, len(r.Bytes), r.OverLimit)
	}
	if r.Prepare != NoPrepare && r.Prepare > r.Ordinal {
		s.t.Fatalf("event %d executes what event %d prepares", r.Ordinal, r.Prepare)
	}
	var sp Splitter
	shape, sizes, values := sp.Split(r.Bytes)
	if joined, err := Join(nil, shape, sizes, values); err != nil || !bytes.Equal(joined, r.Bytes) {
		s.t.Fatalf("%q joined %q: %v", r.Bytes, joined, err)
	}
}

func (s *strict) Reply(r *Reply) {
	if !s.asked[r.Ordinal] || s.replied[r.Ordinal] {
		s.t.Fatalf("reply to %d: asked %v, replied %v", r.Ordinal, s.asked[r.Ordinal], s.replied[r.Ordinal])
	}
	s.replied[r.Ordinal] = true
	if r.First > r.Done || r.Outcome != OK && r.Reason == "" {
		s.t.Fatalf("reply %+v", r)
	}
}

func (s *strict) Prepared(name []byte, ordinal uint64, message []byte) {
	if len(name) > nameLen || ordinal >= s.next && !s.asked[ordinal] && ordinal != s.next {
		s.t.Fatalf("prepared %q #%d before #%d", name, ordinal, s.next)
	}
}

func (s *strict) Deallocated([]byte) {}

func (s *strict) Sets(_, _ [][]byte) {}

func (s *strict) Setting(string, string) {}

// finish: everything asked was answered, once.
func (s *strict) finish() {
	for o := range s.asked {
		if !s.replied[o] {
			s.t.Fatalf("no reply to %d", o)
		}
	}
}
