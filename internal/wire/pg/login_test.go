package pg

import (
	"bytes"
	"strings"
	"testing"
)

var logins = []conversation{
	{"SSL and GSS refused first", `
		> gss
		< raw:N
		> ssl
		< raw:N
		> start
		< R | K | Z:I
		> X`, `
		started joe/shop
		#0 c !
		#0 -> ok 0/0 I @6-6
		#1 e X!
		#1 -> ok 0/0 I @7-7`},
	{"SSL refused to a client that does not wait for that", `
		> ssl | start
		< raw:N
		< R | K | Z:I
		> X`, `
		started joe/shop
		#0 c !
		#0 -> ok 0/0 I
		#1 e X!
		#1 -> ok 0/0 I`},
	{"the login fails", `
		> start
		< E:28P01:FATAL
		> X`, `
		started joe/shop
		#0 c !
		#0 -> failed(28P01) 0/0 -
		#1 e X!
		#1 -> ok 0/0 -`},
	{"too many connections, the client just goes", `
		> start
		< E:53300:FATAL`, `
		started joe/shop
		#0 c !
		#0 -> failed(53300) 0/0 -
		#1 e !
		#1 -> ok(53300) 0/0 -`},
	{"an error that does not say it is fatal ends a login too", `
		> start
		< E:08P01`, `
		started joe/shop
		#0 c !
		#0 -> failed(08P01) 0/0 -
		#1 e !
		#1 -> ok(08P01) 0/0 -`},
	{"PG-19: the version is negotiated; no key", `
		> start
		< v | R | S:a:b | N | Z:I
		> Q:select 1
		< C:SELECT 1 | Z:I`, `
		started joe/shop
		#0 c !
		setting a=b
		#0 -> ok 0/0 I
		#1 q Q! "select 1"
		#1 -> ok 1/1 I
		#2 e !
		#2 -> ok(client_gone) 0/0 I`},
	{"a client that does not wait for the login's end", `
		> start | Q:select 1
		< R | Z:I | C:SELECT 1 | Z:I`, `
		started joe/shop
		#0 c !
		#1 q Q! "select 1"
		#0 -> ok 0/0 I
		#1 -> ok 1/1 I
		#2 e !
		#2 -> ok(client_gone) 0/0 I`},
	{"the server is ahead of the start packet", `
		< R | Z:I
		> start
		> X`, `
		started joe/shop
		#0 c !
		#0 -> ok 0/0 I
		#1 e X!
		#1 -> ok 0/0 I`},
	{"a client that goes before it has said anything", ``, ``},
}

func TestLogins(t *testing.T) {
	for _, c := range logins {
		t.Run(c.name, func(t *testing.T) {
			check(t, Options{}, c.script, c.want, !strings.Contains(c.want, "setting "))
		})
	}
}

// saltedMD5 asks for a password; saslContinue holds something secret.
var (
	saltedMD5    = []byte{'R', 0, 0, 0, 12, 0, 0, 0, 5, 's', 'a', 'l', 't'}
	saslContinue = append([]byte{'R', 0, 0, 0, 19, 0, 0, 0, 11}, "server-proof"[:11]...)
)

// What the sink is given must hold nothing of the authentication, whichever
// way it was cut.
func TestAuthenticationNeverReachesTheSink(t *testing.T) {
	steps := []step{
		{'>', frontend(t, "start")},
		{'<', saltedMD5},
		{'>', frontend(t, "p:md5hunter2hunter2")},
		{'<', saslContinue},
		{'>', frontend(t, "p:sasl-client-final-hunter2")},
		{'<', append(backend(t, "R"), append(backend(t, "K"), backend(t, "Z:I")...)...)},
	}
	for cut := range 60 {
		var s secretSink
		if err := play(t, &s.log, Options{}, steps, cut, ""); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(s.log.lines, "\n")
		if strings.Contains(got, "hunter2") || strings.Contains(got, "proof") || len(s.lines) != 5 {
			t.Fatalf("cut at %d: %s", cut, got)
		}
	}
}

type secretSink struct{ log }

// The bytes of a password are not even kept in memory of the conversation.
func TestAuthenticationIsNotKept(t *testing.T) {
	c := NewConversation(&log{}, Options{})
	p := frontend(t, "p:hunter2hunter2")
	for _, b := range [][]byte{frontend(t, "start"), p[:9], p[9:]} {
		if err := c.Client(b, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, kept := range [][]byte{c.client.buf[:cap(c.client.buf)], c.piece[:cap(c.piece)], c.buf[:cap(c.buf)], c.bytes, c.kept.buf} {
		if bytes.Contains(kept, []byte("hunter")) {
			t.Fatalf("kept %q", kept)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, n := range []int{0, 1, 4, 32, 256, 3000} {
		key := bytes.Repeat([]byte{7}, n)
		m := append([]byte{'K', 0, 0, byte((n + 8) >> 8), byte(n + 8), 0, 0, 1, 2}, key...)
		for _, cut := range []int{0, 3, 7, 10} {
			cut = min(cut, len(m))
			c := NewConversation(&log{}, Options{})
			_ = c.Client(frontend(t, "start"), 1)
			_ = c.Server(m[:cut], 2)
			if err := c.Server(append(m[cut:len(m):len(m)], backend(t, "Z:I")...), 2); err != nil {
				t.Fatal(err)
			}
			pid, got := c.Key()
			if pid != 258 || !bytes.Equal(got, key) {
				t.Errorf("key of %d bytes cut at %d: got %d, %d bytes", n, cut, pid, len(got))
			}
		}
	}
	c := NewConversation(&log{}, Options{})
	_ = c.Client(frontend(t, "start"), 1)
	_ = c.Server(backend(t, "Z:I"), 2)
	if _, key := c.Key(); key != nil {
		t.Errorf("a key out of nowhere: %x", key)
	}
}
