package pg

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/jackc/pgproto3/v2"
)

func packet(version uint32, settings ...string) []byte {
	b := []byte{0, 0, 0, 0, byte(version >> 24), byte(version >> 16), byte(version >> 8), byte(version)}
	for _, s := range settings {
		b = append(append(b, s...), 0)
	}
	b = append(b, 0)
	b[2], b[3] = byte(len(b)>>8), byte(len(b))
	return b
}

func TestParseStartup(t *testing.T) {
	for _, c := range []struct {
		packet []byte
		want   Startup
	}{
		{packet(0x30000, "user", "joe"), Startup{User: "joe", Database: "joe", Version: 0x30000}},
		{packet(0x30000, "database", "shop", "user", "joe", "options", "-c x=1"), Startup{User: "joe", Database: "shop", Version: 0x30000, Settings: map[string]string{"options": "-c x=1"}}},
		{packet(0x30002, "user", "joe", "_pq_.foo", "1"), Startup{User: "joe", Database: "joe", Version: 0x30002, Settings: map[string]string{"_pq_.foo": "1"}}},
		{packet(0x3270f, "user", "joe"), Startup{User: "joe", Database: "joe", Version: 0x3270f}},
		{packet(0x30000), Startup{Version: 0x30000}},
		{packet(0x30000)[:8:8], Startup{}},
		{packet(0x30000, "user", "\xff\xfe"), Startup{User: "\xff\xfe", Database: "\xff\xfe", Version: 0x30000}},
		{packet(0x30000, "user", "r", "replication", "database"), Startup{User: "r", Database: "r", Version: 0x30000, Replication: true, Settings: map[string]string{"replication": "database"}}},
		{packet(0x30000, "user", "r", "replication", "TRUE"), Startup{User: "r", Database: "r", Version: 0x30000, Replication: true, Settings: map[string]string{"replication": "TRUE"}}},
		{packet(0x30000, "user", "r", "replication", "off"), Startup{User: "r", Database: "r", Version: 0x30000, Settings: map[string]string{"replication": "off"}}},
	} {
		if len(c.packet) == 8 { // no settings and not even the NUL after them
			c.packet[3] = 8
			c.want.Version = 0x30000
		}
		if c.want.Settings == nil {
			c.want.Settings = map[string]string{}
		}
		got, err := ParseStartup(c.packet)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %+v, %v, want %+v", c.packet, got, err, c.want)
		}
	}
}

// The replication values are those of the server's parse_bool.
func TestReplicationValues(t *testing.T) {
	for v, want := range map[string]bool{
		"true": true, "t": true, "tr": true, "yes": true, "y": true, "on": true, "1": true, "database": true, "On": true,
		"false": false, "no": false, "off": false, "0": false, "o": false, "": false, "data": false, "truer": false,
	} {
		if isTrue(v) != want {
			t.Errorf("%q: %v", v, !want)
		}
	}
}

func TestReadStartup(t *testing.T) {
	cancel := encode(t, &pgproto3.CancelRequest{ProcessID: 5, SecretKey: 9})
	stream := append(frontend(t, "gss"), frontend(t, "ssl")...)
	stream = append(append(append(stream, packet(0x30000, "user", "joe")...), cancel...), "rest"...)
	r := iotest.OneByteReader(bytes.NewReader(stream))
	for _, want := range []uint32{CodeGSS, CodeSSL, 0x30000, CodeCancel} {
		p, code, err := ReadStartup(r)
		if err != nil || code != want {
			t.Fatalf("got %d, %v, want %d", code, err, want)
		}
		if code == CodeCancel {
			pid, key, err := ParseCancel(p)
			if err != nil || pid != 5 || !bytes.Equal(key, []byte{0, 0, 0, 9}) {
				t.Errorf("cancel %d %x %v", pid, key, err)
			}
		}
	}
	if rest, _ := io.ReadAll(r); string(rest) != "rest" {
		t.Errorf("it read on: %q is left", rest)
	}
}

func TestReadStartupRefuses(t *testing.T) {
	for _, c := range []struct{ in, err string }{
		{"", "EOF"},
		{"\x00\x00", "unexpected EOF"},
		{"\x00\x00\x00\x09\x00\x03", "unexpected EOF"},
		{"\x00\x00\x00\x07", "not a PostgreSQL client"},
		{"GET / HTTP/1.1\r\n", "not a PostgreSQL client"},
		{"\xff\xff\xff\xff\x00\x03\x00\x00", "not a PostgreSQL client"},
		{"\x00\x00\x27\x11" + strings.Repeat("x", 10000), "not a PostgreSQL client"},
	} {
		_, _, err := ReadStartup(strings.NewReader(c.in))
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.20q: %v", c.in, err)
		}
	}
	if _, _, err := ReadStartup(strings.NewReader("\x00\x00\x27\x10" + strings.Repeat("x", 10000))); err != nil {
		t.Errorf("the longest packet: %v", err)
	}
}

func TestParseCancelKeys(t *testing.T) {
	for _, n := range []int{0, 1, 4, 32, 256} {
		b := append([]byte{0, 0, byte((12 + n) >> 8), byte(12 + n), 0x04, 0xd2, 0x16, 0x2e, 0, 0, 1, 0}, bytes.Repeat([]byte{3}, n)...)
		pid, key, err := ParseCancel(b)
		if err != nil || pid != 256 || len(key) != n {
			t.Errorf("%d: pid %d, key %x, %v", n, pid, key, err)
		}
	}
	for _, b := range []string{"", "\x00\x00\x00\x08\x04\xd2\x16\x2e", "\x00\x00\x00\x0c\x00\x03\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x0d\x04\xd2\x16\x2e\x00\x00\x00\x00"} {
		if _, _, err := ParseCancel([]byte(b)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

func FuzzStartup(f *testing.F) {
	f.Add(packet(0x30000, "user", "joe", "replication", "yes"))
	f.Add(encode(f, &pgproto3.CancelRequest{ProcessID: 5, SecretKey: 9}))
	f.Add(encode(f, &pgproto3.SSLRequest{}))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("\x00\x00\x00\x0b\x00\x03\x00\x00ab\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, code, err := ReadStartup(bytes.NewReader(b))
		if err == nil && (len(p) < minStartup || len(p) > maxStartup || !bytes.Equal(p, b[:len(p)])) {
			t.Fatalf("read %q of %q", p, b)
		}
		s, perr := ParseStartup(p)
		_, key, cerr := ParseCancel(p)
		if err == nil && perr == nil && (s.Version != code || s.Version>>16 != 3) {
			t.Fatalf("version %x, code %x", s.Version, code)
		}
		if cerr == nil && (code != CodeCancel || len(key) != len(p)-12) {
			t.Fatalf("code %d, key %x", code, key)
		}
		// The conversation reads the same packet, however it is cut.
		for _, cut := range []int{0, 1, 4, 7, len(b)} {
			l := &log{}
			c := NewConversation(l, Options{})
			cut = min(cut, len(b))
			first := c.Client(b[:cut], 1)
			if first == nil {
				first = c.Client(b[cut:], 2)
			}
			started := len(l.lines) > 0
			if want := err == nil && perr == nil; want && !started || started && err == nil && perr != nil && code != CodeSSL && code != CodeGSS {
				t.Fatalf("cut at %d: started %v (%v), want %v", cut, started, first, want)
			}
		}
	})
}
