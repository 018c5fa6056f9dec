package pg

import (
	"slices"
	"strings"
	"testing"
)

// A replay names its events itself and says what it sent, event by event.
func TestSend(t *testing.T) {
	l := &log{quiet: true, times: true}
	c := NewConversation(l, Options{LoggedIn: true, Ordinal: 1})
	send := func(ordinal uint64, messages string, now int64) {
		t.Helper()
		if err := c.Send(ordinal, event(t, messages), now); err != nil {
			t.Fatal(err)
		}
	}
	serve := func(messages string, now int64) {
		t.Helper()
		for m := range strings.SplitSeq(messages, " | ") {
			if err := c.Server(backend(t, m), now); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(1, "P:s:select $1 | S", 10)
	serve("1 | Z:I", 11)
	send(4, "B::s:1 | E:", 12) // 2 and 3 were filtered
	send(5, "B::s:1 | E: | S", 13)
	if c.Pending() != 2 {
		t.Errorf("pending %d", c.Pending())
	}
	serve("2 | D | C:SELECT 1 | 2 | E:22012 | Z:I", 14)
	send(6, "Q:copy t from stdin", 15)
	serve("G", 16)
	if !c.CopyIn() {
		t.Error("not in a COPY")
	}
	send(7, "d:a | d:b", 17)
	send(8, "d:c | c", 18)
	serve("C:COPY 3 | Z:T", 19)
	if c.CopyIn() || c.Pending() != 0 || c.TransactionState() != 'T' || c.LastOrdinal() != 8 {
		t.Errorf("copy in %v, pending %d, state %c, last %d", c.CopyIn(), c.Pending(), c.TransactionState(), c.LastOrdinal())
	}
	send(9, "Q:commit", 20)
	serve("C:ROLLBACK | Z:I", 21)
	send(10, "Q:select 1", 22)
	c.End(20, 23, "server_gone")
	want := strings.Join(lines(`
		#1 p PS! "select $1"
		#1 -> ok 0/0 I @11-11
		#4 x BE =1
		#5 x BES! =1
		#4 -> ok 1/1 I =1 @14-14
		#5 -> failed(22012) 0/0 I =1 @14-14
		#6 q Q! "copy t from stdin"
		#7 d dd!
		#7 -> ok 0/0 I @17-17
		#8 d dc!
		#8 -> ok 0/0 I @18-18
		#6 -> ok 3/1 T @16-19
		#9 q Q! "commit"
		#9 -> failed(rolled_back) 0/1 I @21-21
		#10 q Q! "select 1"
		#10 -> lost(server_gone) 0/0 I @23-23
		#20 e !
		#20 -> ok(server_gone) 0/0 I @23-23`), "\n")
	if got := strings.Join(l.lines, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// The end event of a trace is sent like any other.
func TestSendTerminate(t *testing.T) {
	l := &log{}
	c := NewConversation(l, Options{LoggedIn: true, Ordinal: 1})
	if err := c.Send(7, event(t, "X"), 5); err != nil {
		t.Fatal(err)
	}
	c.End(9, 6, "client_gone")
	if got := strings.Join(l.lines, "\n"); got != "#7 e X!\n#7 -> ok 0/0 I" {
		t.Errorf("got %s", got)
	}
}

func TestSendRefuses(t *testing.T) {
	for what, b := range map[string][]byte{
		"nothing":           {},
		"half a header":     []byte("Q\x00\x00"),
		"half a message":    []byte("Q\x00\x00\x00\x09ab"),
		"an unknown one":    []byte("S\x00\x00\x00\x04\x07\x00\x00\x00\x04"),
		"a negative length": []byte("Q\xff\xff\xff\xff"),
	} {
		c := NewConversation(&log{}, Options{LoggedIn: true})
		if err := c.Send(1, b, 1); err == nil {
			t.Errorf("%s was taken", what)
		}
		c.Close(2, "x")
	}
	if err := NewConversation(&log{}, Options{}).Send(1, event(t, "S"), 1); err == nil {
		t.Error("sent before the login")
	}
}

// Whatever Client makes of a stream, Send makes of the events it was cut into.
func TestSendIsClient(t *testing.T) {
	for _, s := range conversations {
		first := &collector{log: log{quiet: true}}
		c := NewConversation(first, Options{LoggedIn: true, Ordinal: 1})
		again := &log{quiet: true}
		r := NewConversation(again, Options{LoggedIn: true, Ordinal: 1})
		for i, st := range script(t, s.script) {
			feed := c.Client
			if st.dir == '<' {
				feed = c.Server
			}
			if err := feed(st.bytes, int64(i)); err != nil {
				t.Fatal(err)
			}
			for _, e := range first.take() {
				if err := r.Send(e.ordinal, e.bytes, int64(i)); err != nil {
					t.Fatalf("%s: %v", s.name, err)
				}
			}
			if st.dir == '<' {
				if err := r.Server(st.bytes, int64(i)); err != nil {
					t.Fatalf("%s: %v", s.name, err)
				}
			}
		}
		c.Close(99, "x")
		for _, e := range first.take() {
			_ = r.Send(e.ordinal, e.bytes, 99)
		}
		r.Close(99, "x")
		// The order of calls may differ, for an event is told of when it is
		// whole; what is told may not.
		slices.Sort(first.lines)
		slices.Sort(again.lines)
		if got, want := strings.Join(again.lines, "\n"), strings.Join(first.lines, "\n"); got != want {
			t.Errorf("%s:\n got\n%s\nwant\n%s", s.name, got, want)
		}
	}
}

type sentEvent struct {
	ordinal uint64
	bytes   []byte
}

type collector struct {
	log
	events []sentEvent
}

func (c *collector) Request(r *Request) {
	c.log.Request(r)
	if len(r.Bytes) > 0 {
		c.events = append(c.events, sentEvent{r.Ordinal, append([]byte(nil), r.Bytes...)})
	}
}

func (c *collector) take() []sentEvent {
	e := c.events
	c.events = nil
	return e
}
