package pg

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// talker speaks to a real server and shows everything to a conversation.
type talker struct {
	t     *testing.T
	conn  net.Conn
	c     *Conversation
	log   *log
	since time.Time
	steps []step // what was said, to be cut otherwise later
}

func talk(t *testing.T, s *dbtest.Server, user, database string, settings ...string) *talker {
	t.Helper()
	params := map[string]string{"user": user, "database": database}
	for i := 0; i+1 < len(settings); i += 2 {
		params[settings[i]] = settings[i+1]
	}
	return talkStart(t, s, encode(t, &pgproto3.StartupMessage{ProtocolVersion: 0x30000, Parameters: params}))
}

// talkVersion asks for a protocol version of choice.
func talkVersion(t *testing.T, s *dbtest.Server, version uint32) *talker {
	t.Helper()
	return talkStart(t, s, encode(t, &pgproto3.StartupMessage{ProtocolVersion: version, Parameters: map[string]string{"user": "postgres"}}))
}

func talkStart(t *testing.T, s *dbtest.Server, packet []byte) *talker {
	t.Helper()
	l := &log{quiet: true}
	k := &talker{t: t, conn: dial(t, s), c: NewConversation(l, Options{}), log: l, since: time.Now()}
	k.send(packet)
	return k
}

func dial(t *testing.T, s *dbtest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// talkRaw sends a packet and returns all that comes back.
func talkRaw(t *testing.T, s *dbtest.Server, packet []byte) []byte {
	t.Helper()
	conn := dial(t, s)
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Write(packet); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	return b
}

func (k *talker) now() int64 { return int64(time.Since(k.since)) + 1 }

// send writes and shows it first: the answer cannot be ahead.
func (k *talker) send(b []byte) {
	k.t.Helper()
	k.steps = append(k.steps, step{'>', b})
	if err := k.c.Client(b, k.now()); err != nil {
		k.t.Fatal(err)
	}
	if _, err := k.conn.Write(b); err != nil {
		k.t.Fatal(err)
	}
}

// receive reads until done says so; false at the end of the connection.
func (k *talker) receive(done func() bool) bool {
	k.t.Helper()
	limit := time.Now().Add(10 * time.Second)
	for !done() {
		buf := make([]byte, 1<<16)
		_ = k.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		n, err := k.conn.Read(buf)
		if n > 0 {
			k.steps = append(k.steps, step{'<', buf[:n]})
			if err := k.c.Server(buf[:n], k.now()); err != nil {
				k.t.Fatalf("%v\nafter\n%s", err, strings.Join(k.log.lines, "\n"))
			}
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		if time.Now().After(limit) {
			k.t.Fatalf("no answer; so far:\n%s", strings.Join(k.log.lines, "\n"))
		}
	}
	return true
}

func (k *talker) idle() bool    { return k.c.Pending() == 0 }
func (k *talker) copying() bool { return k.c.CopyIn() }

// quiet: nothing has come for a while.
func (k *talker) quiet() func() bool {
	until, n := time.Now().Add(150*time.Millisecond), len(k.steps)
	return func() bool {
		if len(k.steps) != n {
			until, n = time.Now().Add(150*time.Millisecond), len(k.steps)
		}
		return time.Now().After(until)
	}
}

// say plays the client's lines of a script: after "> " everything sent must be
// answered before it goes on, after ">g " the server must want COPY data,
// after ">. " it goes on at once, after ">~ " when nothing more comes.
func (k *talker) say(text string) {
	k.t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		how, messages, _ := strings.Cut(line, " ")
		k.send(event(k.t, messages))
		switch how {
		case ">":
			k.receive(k.idle)
		case ">g":
			k.receive(k.copying)
		case ">~":
			k.receive(k.quiet())
		}
	}
}

// check compares what the sink heard since the last check, and that it would
// have heard the same had the bytes come otherwise.
func (k *talker) check(want string) {
	k.t.Helper()
	got, expected := strings.Join(k.log.lines, "\n"), strings.Join(lines(want), "\n")
	if got != expected {
		k.t.Errorf("got:\n%s\nwant:\n%s", got, expected)
	}
}

// again plays the whole session once more with every write cut in two, and
// byte by byte.
func (k *talker) again(reason string) {
	k.t.Helper()
	k.c.Close(k.now(), reason)
	want := strings.Join(k.log.lines, "\n")
	for _, cut := range []int{1, 2, 3, 4, 5, 6, 7, 11, 23, 47, 101, 1000} {
		l := &log{quiet: true}
		if err := play(k.t, l, Options{}, k.steps, cut, reason); err != nil {
			l.add("fault %v", err)
		}
		if got := strings.Join(l.lines, "\n"); got != want {
			k.t.Fatalf("cut at %d:\n got:\n%s\nwant:\n%s", cut, got, want)
		}
	}
	l := &log{quiet: true}
	if err := bytewise(l, Options{}, k.steps, reason); err != nil {
		l.add("fault %v", err)
	}
	if got := strings.Join(l.lines, "\n"); got != want {
		k.t.Fatalf("byte by byte:\n got:\n%s\nwant:\n%s", got, want)
	}
}
