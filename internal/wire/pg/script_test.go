package pg

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgproto3/v2"
)

// A script is a session, a line for each write: "> " by the client, "< " by the
// server, messages separated by " | ". A message is its type letter and, after
// colons, what it holds: Q:select 1, P:name:sql, B:portal:statement:value,value,
// E:portal, D:S:name, C:S:name, d:data; from the server C:tag, Z:I, E:SQLSTATE.
type step struct {
	dir   byte
	bytes []byte
}

func script(t testing.TB, text string) []step {
	t.Helper()
	var steps []step
	for line := range strings.Lines(text) {
		line = strings.Trim(line, " \t\n")
		if line == "" {
			continue
		}
		s := step{dir: line[0]}
		for m := range strings.SplitSeq(line[2:], " | ") {
			if s.dir == '>' {
				s.bytes = append(s.bytes, frontend(t, m)...)
			} else {
				s.bytes = append(s.bytes, backend(t, m)...)
			}
		}
		steps = append(steps, s)
	}
	return steps
}

type encoder interface {
	Encode([]byte) ([]byte, error)
}

func encode(t testing.TB, m encoder) []byte {
	t.Helper()
	b, err := m.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// frontend encodes with the independent library.
func frontend(t testing.TB, m string) []byte {
	t.Helper()
	f := append(strings.Split(m, ":"), "", "", "")
	switch f[0] {
	case "start":
		return encode(t, &pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "joe", "database": "shop"}})
	case "p":
		return encode(t, &pgproto3.PasswordMessage{Password: f[1]})
	case "Q":
		return encode(t, &pgproto3.Query{String: strings.TrimPrefix(m, "Q:")})
	case "P":
		return encode(t, &pgproto3.Parse{Name: f[1], Query: strings.TrimPrefix(m, "P:"+f[1]+":")})
	case "B":
		b := &pgproto3.Bind{DestinationPortal: f[1], PreparedStatement: f[2]}
		for v := range strings.SplitSeq(f[3], ",") {
			if v != "" {
				b.Parameters = append(b.Parameters, []byte(v))
			}
		}
		return encode(t, b)
	case "D":
		return encode(t, &pgproto3.Describe{ObjectType: append([]byte(f[1]), 'P')[0], Name: f[2]})
	case "E":
		n, _ := strconv.Atoi(f[2])
		return encode(t, &pgproto3.Execute{Portal: f[1], MaxRows: uint32(n)})
	case "C":
		return encode(t, &pgproto3.Close{ObjectType: append([]byte(f[1]), 'S')[0], Name: f[2]})
	case "S":
		return encode(t, &pgproto3.Sync{})
	case "H":
		return encode(t, &pgproto3.Flush{})
	case "X":
		return encode(t, &pgproto3.Terminate{})
	case "d": // a backslash and n is a line end
		return encode(t, &pgproto3.CopyData{Data: []byte(strings.ReplaceAll(f[1], `\n`, "\n"))})
	case "c":
		return encode(t, &pgproto3.CopyDone{})
	case "f":
		return encode(t, &pgproto3.CopyFail{Message: f[1]})
	case "F":
		return encode(t, &pgproto3.FunctionCall{Function: 1598, Arguments: [][]byte{[]byte("ab"), nil}})
	case "ssl":
		return encode(t, &pgproto3.SSLRequest{})
	case "gss":
		return encode(t, &pgproto3.GSSEncRequest{})
	}
	t.Fatalf("no frontend message %q", m)
	return nil
}

func backend(t testing.TB, m string) []byte {
	t.Helper()
	f := append(strings.Split(m, ":"), "", "", "")
	switch f[0] {
	case "R":
		return encode(t, &pgproto3.AuthenticationOk{})
	case "K":
		return encode(t, &pgproto3.BackendKeyData{ProcessID: 77, SecretKey: 0x01020304})
	case "S":
		return encode(t, &pgproto3.ParameterStatus{Name: f[1], Value: f[2]})
	case "Z":
		return encode(t, &pgproto3.ReadyForQuery{TxStatus: f[1][0]})
	case "T":
		return encode(t, &pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("a")}}})
	case "D":
		return encode(t, &pgproto3.DataRow{Values: [][]byte{[]byte(f[1])}})
	case "C":
		return encode(t, &pgproto3.CommandComplete{CommandTag: []byte(f[1])})
	case "E":
		sev := "ERROR"
		if f[2] != "" {
			sev = f[2]
		}
		return encode(t, &pgproto3.ErrorResponse{Severity: "FEHLER", SeverityUnlocalized: sev, Code: f[1], Message: "nicht gut"})
	case "N":
		return encode(t, &pgproto3.NoticeResponse{Severity: "NOTICE", Code: "00000", Message: "so"})
	case "A":
		return encode(t, &pgproto3.NotificationResponse{PID: 1, Channel: "ch", Payload: "hi"})
	case "1":
		return encode(t, &pgproto3.ParseComplete{})
	case "2":
		return encode(t, &pgproto3.BindComplete{})
	case "3":
		return encode(t, &pgproto3.CloseComplete{})
	case "n":
		return encode(t, &pgproto3.NoData{})
	case "t":
		return encode(t, &pgproto3.ParameterDescription{ParameterOIDs: []uint32{23}})
	case "I":
		return encode(t, &pgproto3.EmptyQueryResponse{})
	case "s":
		return encode(t, &pgproto3.PortalSuspended{})
	case "G":
		return encode(t, &pgproto3.CopyInResponse{ColumnFormatCodes: []uint16{0}})
	case "H":
		return encode(t, &pgproto3.CopyOutResponse{ColumnFormatCodes: []uint16{0}})
	case "W":
		return encode(t, &pgproto3.CopyBothResponse{ColumnFormatCodes: []uint16{}})
	case "d":
		return encode(t, &pgproto3.CopyData{Data: []byte(f[1])})
	case "c":
		return encode(t, &pgproto3.CopyDone{})
	case "V":
		return encode(t, &pgproto3.FunctionCallResponse{Result: []byte("x")})
	case "v":
		return []byte{'v', 0, 0, 0, 20, 0, 3, 0, 0, 0, 0, 0, 1, '_', 'p', 'q', '_', '.', 'a', 0, 0}
	case "raw":
		return []byte(f[1])
	}
	t.Fatalf("no backend message %q", m)
	return nil
}

// log is a sink that writes down what it is told, a line for each call.
type log struct {
	lines   []string
	replies []Reply
	texts   []string
	quiet   bool // no settings, no prepared statements
	times   bool
}

func (l *log) add(format string, args ...any) {
	l.lines = append(l.lines, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (l *log) Started(s Startup) { l.add("started %s/%s", s.User, s.Database) }

func (l *log) Request(r *Request) {
	letters := ""
	for b := r.Bytes; len(b) > 0; {
		typ, _, rest, err := cut(b)
		if err != nil {
			letters += "?"
			break
		}
		letters, b = letters+string(typ), rest
	}
	if r.OverLimit {
		letters = fmt.Sprintf("over(%d)", r.Size)
	} else if uint64(len(r.Bytes)) != r.Size {
		letters += fmt.Sprintf("(size %d, %d bytes)", r.Size, len(r.Bytes))
	}
	if r.RequestEnd {
		letters += "!"
	}
	l.add("#%d %c %s%s %s", r.Ordinal, r.Op, letters, link(r.Prepare), quote0(r.Text))
	l.texts = append(l.texts, string(r.Text))
}

func quote0(b []byte) string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%.60q", b)
}

func link(p uint64) string {
	if p == NoPrepare {
		return ""
	}
	return fmt.Sprintf(" =%d", p)
}

var outcomes = [...]string{"ok", "failed", "skipped", "lost"}

func (l *log) Reply(r *Reply) {
	state := string(r.State)
	if r.State == 0 {
		state = "-"
	}
	out := outcomes[r.Outcome]
	if r.Reason != "" {
		out += "(" + r.Reason + ")"
	}
	when := ""
	if l.times {
		when = fmt.Sprintf(" @%d-%d", r.First, r.Done)
	}
	l.add("#%d -> %s %d/%d %s%s%s", r.Ordinal, out, r.Rows, r.Results, state, link(r.Prepare), when)
	if r.First > r.Done {
		l.add("first %d after done %d", r.First, r.Done)
	}
	l.replies = append(l.replies, *r)
}

func (l *log) Prepared(name []byte, ordinal uint64, message []byte) {
	if l.quiet {
		return
	}
	kind := "too long"
	if message != nil {
		kind = string(message[0])
	}
	l.add("prepared %q #%d %s", name, ordinal, kind)
}

func (l *log) Deallocated(name []byte) {
	if l.quiet {
		return
	}
	if name == nil {
		l.add("deallocated all")
		return
	}
	l.add("deallocated %q", name)
}

func (l *log) Sets(inForce, open [][]byte) {
	if !l.quiet {
		l.add("sets %q open %q", inForce, open)
	}
}

func (l *log) Setting(name, value string) {
	if !l.quiet {
		l.add("setting %s=%s", name, value)
	}
}

// play runs steps through a conversation, each at its own second; cut > 0
// feeds the first cut bytes of every step on their own.
func play(t testing.TB, l *log, o Options, steps []step, cut int, reason string) error {
	t.Helper()
	c := NewConversation(l, o)
	for i, s := range steps {
		feed := c.Client
		if s.dir == '<' {
			feed = c.Server
		}
		now := int64(i + 1)
		n := min(cut, len(s.bytes))
		for _, part := range [][]byte{s.bytes[:n], s.bytes[n:]} {
			part = append([]byte(nil), part...)
			if err := feed(part, now); err != nil {
				return err
			}
			for i := range part { // what it keeps must be its own
				part[i] = 0xaa
			}
		}
	}
	c.Close(int64(len(steps)+1), reason)
	return nil
}

// bytewise is play with every byte fed on its own.
func bytewise(l *log, o Options, steps []step, reason string) error {
	c := NewConversation(l, o)
	for i, s := range steps {
		for _, b := range s.bytes {
			feed := c.Client
			if s.dir == '<' {
				feed = c.Server
			}
			if err := feed([]byte{b}, int64(i+1)); err != nil {
				return err
			}
		}
	}
	c.Close(int64(len(steps)+1), reason)
	return nil
}
