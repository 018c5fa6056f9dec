package pg

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/retrace-db/retrace/internal/dbtest"
)

func TestLiveConversations(t *testing.T) {
	s := dbtest.Postgres15(t)
	for i, c := range slices.Concat(liveCases, liveCopies) {
		t.Run(c.name, func(t *testing.T) {
			schema := fmt.Sprintf("s%d", i)
			setup := talk(t, s, "postgres", "postgres")
			setup.receive(setup.idle)
			setup.send(encode(t, &pgproto3.Query{String: "create schema " + schema + "; set search_path to " + schema + ";" + c.before}))
			setup.receive(setup.idle)
			k := talk(t, s, "postgres", "postgres", "options", "-csearch_path="+schema)
			k.receive(k.idle)
			k.say(c.script)
			k.check("started postgres/postgres\n#0 c !\n#0 -> ok 0/0 I\n" + c.want)
			k.again("client_gone")
		})
	}
}

func TestLiveLogin(t *testing.T) {
	s := dbtest.Postgres15(t)
	t.Run("PG-19 newer versions and options are negotiated", func(t *testing.T) {
		k := talk(t, s, "postgres", "postgres", "_pq_.foo", "1")
		k.receive(k.idle)
		pid, key := k.c.Key()
		if pid == 0 || len(key) != 4 {
			t.Errorf("key %d %x", pid, key)
		}
		var said []byte
		for _, st := range k.steps {
			if st.dir == '<' {
				said = append(said, st.bytes...)
			}
		}
		if said[0] != 'v' {
			t.Errorf("the server negotiates no more: %q", said[:30])
		}
		k.check("started postgres/postgres\n#0 c !\n#0 -> ok 0/0 I")
		k.again("client_gone")
	})
	t.Run("no such database", func(t *testing.T) {
		k := talk(t, s, "postgres", "nosuch")
		k.receive(func() bool { return false })
		k.check("started postgres/nosuch\n#0 c !\n#0 -> failed(3D000) 0/0 -")
		k.again("server_gone")
	})
	t.Run("replication", func(t *testing.T) {
		k := talk(t, s, "postgres", "postgres", "replication", "database")
		k.receive(k.idle)
		k.say("> Q:IDENTIFY_SYSTEM\n>~ Q:SHOW server_version")
		k.check(`
			started postgres/postgres
			#0 c !
			#0 -> ok 0/0 I
			#1 q Q! "IDENTIFY_SYSTEM"
			#1 -> ok 1/1 I
			#2 q Q! "SHOW server_version"
			#2 -> ok 1/1 I`)
		k.again("client_gone")
	})
}

// CopyBoth: a logical or physical replication stream is followed to its end.
func TestLiveReplicationStream(t *testing.T) {
	s := dbtest.Postgres15(t)
	k := talk(t, s, "postgres", "postgres", "replication", "true")
	k.receive(k.idle)
	k.say(">~ Q:START_REPLICATION PHYSICAL 0/1000000")
	status := append([]byte{'r'}, make([]byte, 33)...)
	k.send(encode(t, &pgproto3.CopyData{Data: status}))
	k.send(encode(t, &pgproto3.CopyDone{}))
	k.receive(k.idle)
	if n := len(k.log.replies); n != 3 {
		t.Fatalf("%d replies:\n%s", n, strings.Join(k.log.lines, "\n"))
	}
	k.again("client_gone")
}

// PG-16: a cancel packet has no reply; its victim gets 57014.
func TestLiveCancel(t *testing.T) {
	s := dbtest.Postgres15(t)
	k := talk(t, s, "postgres", "postgres")
	k.receive(k.idle)
	pid, key := k.c.Key()
	k.say(">. Q:select pg_sleep(20)")
	packet := append([]byte{0, 0, 0, byte(12 + len(key)), 0x04, 0xd2, 0x16, 0x2e, byte(pid >> 24), byte(pid >> 16), byte(pid >> 8), byte(pid)}, key...)
	if gotPid, gotKey, err := ParseCancel(packet); err != nil || gotPid != pid || !bytes.Equal(gotKey, key) {
		t.Fatalf("%d %x %v", gotPid, gotKey, err)
	}
	cancel := talkRaw(t, s, packet)
	if len(cancel) != 0 {
		t.Errorf("the cancel was answered %q", cancel)
	}
	// A cancel that overtook the query was for nothing: it is asked for again.
	answered := make(chan struct{})
	defer close(answered)
	go func() {
		for {
			select {
			case <-answered:
				return
			case <-time.After(time.Second):
			}
			if c, err := net.Dial("tcp", s.Addr); err == nil {
				_, _ = c.Write(packet)
				_ = c.Close()
			}
		}
	}()
	k.receive(k.idle)
	k.check(`
		started postgres/postgres
		#0 c !
		#0 -> ok 0/0 I
		#1 q Q! "select pg_sleep(20)"
		#1 -> failed(57014) 0/0 I`)
}

// PG-19: protocol 3.2 has longer keys.
func TestLiveLongKey(t *testing.T) {
	s := dbtest.Postgres18(t)
	k := talkVersion(t, s, 0x30002)
	k.receive(k.idle)
	if _, key := k.c.Key(); len(key) != 32 {
		t.Errorf("a key of %d bytes", len(key))
	}
	k.say("> P::select 1 | B:: | E: | S")
	k.again("client_gone")
}
