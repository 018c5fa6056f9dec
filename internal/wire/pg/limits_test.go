package pg

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgproto3/v2"
)

// PG-21: an event over the limit is recorded without its bytes, with its true
// length, its SQL's beginning, its statement's name, and its reply.
func TestOverLimit(t *testing.T) {
	big := strings.Repeat("x", 3000)
	check(t, Options{LoggedIn: true, Ordinal: 1, Limit: 1000}, `
		> P:s:select `+big+` | S
		< 1 | Z:I
		> B::s:`+big+` | D:P: | E: | S
		< 2 | n | C:SELECT 1 | Z:I
		> P:t:select 1 | B::t:`+big+` | E: | S
		< 1 | 2 | C:SELECT 1 | Z:I
		> Q:select `+big+`
		< C:SELECT 1 | Z:I
		> Q:copy t from stdin
		< G
		> d:`+big+` | d:`+big+` | d:a | c
		< C:COPY 3 | Z:I
		> B::s:`+big[:900]+` | E: | S
		< 2 | C:SELECT 1 | Z:I
		> X`, `
		#1 p over(3022)! "select `+big[:53]+`"
		prepared "s" #1 too long
		#1 -> ok 0/0 I
		#2 x over(3040)! =1
		#2 -> ok 1/1 I =1
		#3 x over(3051)! =3 "select 1"
		prepared "t" #3 P
		#3 -> ok 1/1 I =3
		#4 q over(3013)! "select `+big[:53]+`"
		#4 -> ok 1/1 I
		#5 q Q! "copy t from stdin"
		#6 d over(6021)!
		#6 -> ok 0/0 I
		#5 -> ok 3/1 I
		#7 x BES! =1
		#7 -> ok 1/1 I =1
		#8 e X!
		#8 -> ok 0/0 I`, false)
}

// The prefix of a text that is cut has at most 8 KiB.
func TestOverLimitText(t *testing.T) {
	for _, c := range []struct{ sql, limit, want int }{{100_000, 50_000, prefixLen}, {100_000, 200_000, 100_000}} {
		l := &log{}
		text := strings.Repeat("s", c.sql)
		steps := script(t, "> P::"+text+" | B::: | E: | S")
		for cut := range 30 {
			if err := play(t, l, Options{LoggedIn: true, Limit: c.limit}, steps, cut*1000, ""); err != nil {
				t.Fatal(err)
			}
			// the name and the length word before it count as prefix too
			if got := len(l.texts[0]); got < c.want-16 || got > c.want {
				t.Errorf("limit %d, cut at %d: %d bytes of text, want %d", c.limit, cut*1000, got, c.want)
			}
		}
	}
}

// A Bind with 65,535 parameters, whole and over the limit.
func TestManyParameters(t *testing.T) {
	b := &pgproto3.Bind{PreparedStatement: "s"}
	for i := range 65535 {
		b.Parameters = append(b.Parameters, []byte(fmt.Sprint(i)))
	}
	wire := append(encode(t, b), event(t, "E: | S")...)
	for _, limit := range []int{1 << 20, 1 << 10} {
		l := &keeper{}
		c := NewConversation(l, Options{LoggedIn: true, Limit: limit})
		for at := 0; at < len(wire); at += 4096 {
			if err := c.Client(wire[at:min(len(wire), at+4096)], 1); err != nil {
				t.Fatal(err)
			}
		}
		if l.size != uint64(len(wire)) || l.over != (limit < len(wire)) || !l.over && !bytes.Equal(l.bytes, wire) {
			t.Errorf("limit %d: size %d, over %v, %d bytes", limit, l.size, l.over, len(l.bytes))
		}
	}
}

// keeper keeps the last request.
type keeper struct {
	log
	bytes []byte
	size  uint64
	over  bool
}

func (k *keeper) Request(r *Request) {
	k.bytes, k.size, k.over = bytes.Clone(r.Bytes), r.Size, r.OverLimit
}

// A run of COPY data is cut at 64 KiB, whole messages, however it arrives.
func TestCopyRuns(t *testing.T) {
	row := encode(t, &pgproto3.CopyData{Data: bytes.Repeat([]byte("r"), 1000)})
	big := encode(t, &pgproto3.CopyData{Data: bytes.Repeat([]byte("b"), 70_000)})
	var all []byte
	for range 200 {
		all = append(all, row...)
	}
	all = append(append(append(all, big...), row...), encode(t, &pgproto3.CopyDone{})...)
	for _, chunk := range []int{1, 7, 4096, 64 << 10, len(all)} {
		l := &sizes{}
		c := NewConversation(l, Options{LoggedIn: true})
		_ = c.Client(event(t, "Q:copy t from stdin"), 1)
		_ = c.Server(backend(t, "G"), 2)
		for at := 0; at < len(all); at += chunk {
			if err := c.Client(all[at:min(len(all), at+chunk)], 3); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := fmt.Sprint(l.sizes), "[23 65325 65325 65325 5025 70005 1010]"; got != want {
			t.Fatalf("chunks of %d: runs of %s, want %s", chunk, got, want)
		}
		if !bytes.Equal(l.all, all) {
			t.Fatalf("chunks of %d: not all bytes", chunk)
		}
		if c.Pending() != 1 || !c.CopyIn() {
			t.Errorf("pending %d, copy in %v", c.Pending(), c.CopyIn())
		}
	}
}

type sizes struct {
	log
	sizes []uint64
	all   []byte
}

func (s *sizes) Request(r *Request) {
	s.sizes = append(s.sizes, r.Size)
	if r.Op == OpCopy {
		s.all = append(s.all, r.Bytes...)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		what   string
		o      Options
		client string
		server string
	}{
		{"HTTP", Options{}, "GET / HTTP/1.1\r\n\r\n", ""},
		{"TLS", Options{}, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc", ""},
		{"a start packet too short", Options{}, "\x00\x00\x00\x07", ""},
		{"a start packet too long", Options{}, "\x00\x00\x27\x11", ""},
		{"protocol 2", Options{}, "\x00\x00\x00\x09\x00\x02\x00\x00\x00", ""},
		{"protocol 4", Options{}, "\x00\x00\x00\x09\x00\x04\x00\x00\x00", ""},
		{"a setting without a value", Options{}, "\x00\x00\x00\x0d\x00\x03\x00\x00user\x00", ""},
		{"a cancel request", Options{}, "\x00\x00\x00\x10\x04\xd2\x16\x2e\x00\x00\x00\x01\x00\x00\x00\x02", ""},
		{"SSL accepted", Options{}, "\x00\x00\x00\x08\x04\xd2\x16\x2f", "S"},
		{"an unknown message", Options{LoggedIn: true}, "\x01\x00\x00\x00\x04", ""},
		{"a password in the middle", Options{LoggedIn: true}, "p\x00\x00\x00\x08abc\x00", ""},
		{"a length below 4", Options{LoggedIn: true}, "Q\x00\x00\x00\x03", ""},
		{"a negative length", Options{LoggedIn: true}, "Q\xff\xff\xff\xff", ""},
		{"a length below 4 from the server", Options{LoggedIn: true}, "", "C\x00\x00\x00\x00"},
		{"an answer to something else", Options{LoggedIn: true}, "P\x00\x00\x00\x08\x00\x00\x00\x00", "Z\x00\x00\x00\x05I"},
	} {
		for _, split := range []bool{false, true} {
			l := &log{}
			conv := NewConversation(l, c.o)
			feed := func(f func([]byte, int64) error, s string) (err error) {
				if !split {
					return f([]byte(s), 1)
				}
				for i := range s {
					err = f([]byte(s[i:i+1]), 1)
				}
				return err
			}
			err := feed(conv.Client, c.client)
			if err == nil {
				err = feed(conv.Server, c.server)
			}
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("%s: no fault: %v", c.what, err)
				continue
			}
			n := len(l.lines)
			if again := conv.Client([]byte("X\x00\x00\x00\x04"), 2); again != err {
				t.Errorf("%s: then %v", c.what, again)
			}
			if again := conv.Server([]byte("Z\x00\x00\x00\x05I"), 2); again != err {
				t.Errorf("%s: then %v", c.what, again)
			}
			if again := conv.Send(9, []byte("S\x00\x00\x00\x04"), 2); again != err {
				t.Errorf("%s: then %v", c.what, again)
			}
			conv.Close(3, "x")
			if len(l.lines) != n {
				t.Errorf("%s: the sink was told %q", c.what, l.lines[n:])
			}
		}
	}
}

// The server may be ahead of the client's bytes, but not for ever.
func TestHeldIsBounded(t *testing.T) {
	c := NewConversation(&log{}, Options{LoggedIn: true})
	row := encode(t, &pgproto3.DataRow{Values: [][]byte{bytes.Repeat([]byte("x"), 1000)}})
	var err error
	n := 0
	for ; err == nil && n < 20_000; n++ {
		err = c.Server(row, 1)
	}
	if !errors.Is(err, ErrProtocol) || n*len(row) > maxHeld+2*len(row) {
		t.Fatalf("%d bytes: %v", n*len(row), err)
	}
}

// A client that sends and a server that never answers.
func TestPendingIsBounded(t *testing.T) {
	for _, unit := range []string{"S", "D:S:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "P::select 1", "B:ppppppppppppppppppppppppppppppppppppppppp:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "C:S:x"} {
		c := NewConversation(&nothing{}, Options{LoggedIn: true})
		m := bytes.Repeat(event(t, unit), 1000)
		var err error
		n := 0
		for ; err == nil && n < 2000; n++ {
			err = c.Client(m, 1)
		}
		if !errors.Is(err, ErrProtocol) {
			t.Fatalf("%s: %d messages: %v", unit, 1000*n, err)
		}
		if got := len(c.kept.buf); got > 32<<20 {
			t.Errorf("%s: %d bytes kept", unit, got)
		}
	}
}

type nothing struct{}

func (nothing) Started(Startup)                 {}
func (nothing) Request(*Request)                {}
func (nothing) Reply(*Reply)                    {}
func (nothing) Prepared([]byte, uint64, []byte) {}
func (nothing) Deallocated([]byte)              {}
func (nothing) Sets(_, _ [][]byte)              {}
func (nothing) Setting(string, string)          {}

// Discarded messages of a client that never syncs leave nothing behind.
func TestSkippingIsBounded(t *testing.T) {
	c := NewConversation(&nothing{}, Options{LoggedIn: true})
	_ = c.Client(event(t, "P::bad"), 1)
	_ = c.Server(backend(t, "E:42601"), 2)
	m := bytes.Repeat(event(t, "P:s:select 1 | B:p:s:x | E:p"), 1000)
	for range 500 {
		if err := c.Client(m, 3); err != nil {
			t.Fatal(err)
		}
	}
	if c.owed.len() != 0 || c.events.len() > 2 || cap(c.kept.buf) > 1<<16 || len(c.renamed) > maxNames {
		t.Errorf("%d owed, %d events, %d bytes, %d names", c.owed.len(), c.events.len(), cap(c.kept.buf), len(c.renamed))
	}
}

// Memory that a burst needed is given back.
func TestMemoryIsGivenBack(t *testing.T) {
	c := NewConversation(&nothing{}, Options{LoggedIn: true})
	big := strings.Repeat("x", 200_000)
	for _, s := range script(t, `
		> Q:`+big+`
		< C:SELECT 1 | Z:I
		> P::`+big+` | S
		< 1 | Z:I
		> Q:`+big+` | Q:2
		< E:42601 | Z:I | C:SELECT 1 | Z:I`) {
		for at := 0; at < len(s.bytes); at += 1000 {
			feed := c.Client
			if s.dir == '<' {
				feed = c.Server
			}
			if err := feed(s.bytes[at:min(len(s.bytes), at+1000)], 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := cap(c.buf) + cap(c.piece) + cap(c.kept.buf) + cap(c.client.buf) + cap(c.server.buf) + cap(c.text); n > 64<<10 {
		t.Errorf("%d bytes kept while idle", n)
	}
	if !c.Idle() {
		t.Error("not idle")
	}
}

// PG-21: a row of 300 MB and a parameter of 200 MB stream through; neither is
// kept, both are counted.
func TestHugeMessages(t *testing.T) {
	l := &log{}
	c := NewConversation(l, Options{LoggedIn: true, Ordinal: 1})
	chunk := make([]byte, 1<<20)
	stream := func(f func([]byte, int64) error, head []byte, megabytes int) {
		t.Helper()
		if err := f(head, 1); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(1, func() {
			for range megabytes / 2 { // AllocsPerRun calls it twice
				if err := f(chunk, 1); err != nil {
					t.Fatal(err)
				}
			}
		}); n > 8 {
			t.Errorf("%v allocations", n)
		}
	}
	header := func(typ byte, body int) []byte {
		n := body + 4
		return []byte{typ, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	}
	stream(c.Client, header('B', 200<<20), 200)
	feed(t, c, script(t, "> E: | S\n< 2"))
	stream(c.Server, header('D', 300<<20), 300)
	feed(t, c, script(t, "< C:SELECT 1 | Z:I"))
	want := fmt.Sprintf("#1 x over(%d)!\n#1 -> ok 1/1 I", 5+(200<<20)+len(event(t, "E: | S")))
	if got := strings.Join(l.lines, "\n"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	rest := len(script(t, "< 2 | C:SELECT 1 | Z:I")[0].bytes)
	if got := l.replies[0].Bytes; got != uint64(5+(300<<20)+rest) {
		t.Errorf("%d bytes of reply", got)
	}
}
