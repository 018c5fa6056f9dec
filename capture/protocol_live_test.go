package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// PG-25: a server without room says so through the proxy as it does directly,
// and the recording has it.
func TestTooManyConnections(t *testing.T) {
	server := dbtest.Postgres15(t, "max_connections=6", "superuser_reserved_connections=0", "max_wal_senders=0")
	rec := newRecording(t)
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	for range 6 {
		login(t, server.Addr)
	}
	full := script{name: "one too many"}
	sameReplies(t, full.play(t, server.Addr, nil), full.play(t, proxy, nil))
	stop()
	events, _ := rec.events()
	for _, session := range events {
		if e := session[0]; len(events) != 1 || e.Entry.Op != trace.OpConnect || e.Status != trace.Error || e.Reason != "53300" {
			t.Errorf("recorded %c %v %q", e.Entry.Op, e.Status, e.Reason)
		}
	}
}

// PG-22, portals in slices: what a client fetches in slices is one statement and
// its fetches, and the pauses the client makes between them, or between a Flush
// and its Sync, are nobody's time.
func TestPausesAreNotServiceTime(t *testing.T) {
	const pause = 400 * time.Millisecond
	server := dbtest.Postgres15(t)
	rec := newRecording(t)
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	c := login(t, proxy)
	var waited time.Duration // by the client, for replies: an upper bound of what was served
	for _, step := range []struct {
		send  []byte
		await string
	}{
		{msgs(parse("", "select generate_series(1, 5)"), bind("p", ""), execute("p", 2), flushMsg), "s"},
		{msgs(execute("p", 2), flushMsg), "s"},
		{msgs(execute("p", 2), flushMsg), "C"},
		{msgs(syncMsg), "Z"},
	} {
		begun := time.Now()
		c.send(step.send)
		c.wait(step.await)
		waited += time.Since(begun)
		time.Sleep(pause)
	}
	c.send(msgs(terminate))
	c.wait("$")
	stop()
	events, _ := rec.events()
	var took time.Duration
	var ops strings.Builder
	rows := uint64(0)
	for _, session := range events {
		for _, e := range session[1 : len(session)-1] {
			ops.WriteByte(byte(e.Entry.Op))
			took += time.Duration(e.Took)
			rows += e.Rows
			if e.Entry.Op == trace.OpFetch && e.Entry.SQL() != "select generate_series(0, 0)" {
				t.Errorf("event %d fetches of %q", e.Ordinal, e.Entry.SQL())
			}
		}
	}
	if ops.String() != "xhhs" || rows != 5 {
		t.Errorf("recorded %q with %d rows", ops.String(), rows)
	}
	if took > waited {
		t.Errorf("the statement took %s, its client waited %s", took, waited)
	}
}

// PG-21: a row of 300 MB and a parameter of 100 MB pass; what the proxy and its
// recording need for them does not depend on their size.
func TestHugeRow(t *testing.T) {
	row, parameter := 300<<20, 100<<20
	if testing.Short() {
		row, parameter = 30<<20, 10<<20
	}
	server := dbtest.Postgres15(t)
	rec := newRecording(t)
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	c := login(t, proxy)
	c.ask("select 1")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)

	c.send(msgs(query(fmt.Sprintf("select repeat(repeat('x', 1 << 20), %d)", row>>20))))
	c.wait("T")
	got := c.skip('D')
	c.wait("Z")
	c.send(msgs(parse("", "select length($1)")))
	head := raw('B', "\x00\x00\x00\x00\x00\x01")
	binary.BigEndian.PutUint32(head[1:], uint32(len(head)-1+4+parameter+2))
	c.send(binary.BigEndian.AppendUint32(head, uint32(parameter)))
	chunk := bytes.Repeat([]byte("y"), 1<<20)
	for range parameter / len(chunk) {
		c.send(chunk)
	}
	c.send(append([]byte{0, 0}, msgs(execute(""), syncMsg)...))
	c.wait("DZ")
	runtime.ReadMemStats(&after)
	if got != row+6 {
		t.Errorf("a row of %d bytes, want %d", got, row+6)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 24<<20 {
		t.Errorf("%d MB were allocated for it", n>>20)
	}
	c.send(msgs(terminate))
	c.wait("$")
	stop()
	events, gaps := rec.events()
	if len(events) != 1 || len(gaps) != 0 {
		t.Fatalf("%d sessions, gaps %v", len(events), gaps)
	}
	for _, session := range events {
		q, x := session[2], session[len(session)-2]
		if q.Bytes < uint64(row) || q.Rows != 1 {
			t.Errorf("the row is recorded as %d bytes in %d rows", q.Bytes, q.Rows)
		}
		if x.Entry.Op != trace.OpExecute || !x.OverLimit || x.Status != trace.OK {
			t.Errorf("the parameter is recorded as %c, over limit %v, %v", x.Entry.Op, x.OverLimit, x.Status)
		}
	}
}

// skip reads one message of the kind without keeping it.
func (c *client) skip(kind byte) int {
	c.t.Helper()
	var head [5]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil || head[0] != kind {
		c.t.Fatalf("%q, want a %c: %v", head[:], kind, err)
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := io.CopyN(io.Discard, c.conn, int64(binary.BigEndian.Uint32(head[1:])-4))
	if err != nil {
		c.t.Fatal(err)
	}
	return int(n)
}

// PG-24: the tools that speak the replication protocol get through the proxy
// what they get without, and their sessions are recorded as what they are.
func TestReplicationTools(t *testing.T) {
	server := dbtest.Postgres15(t, "wal_level=logical")
	rec := newRecording(t)
	proxy, stop := through(t, server.Addr, Options{Recorder: rec.Recorder})
	server.Psql(t, "create table r (n int, s text)")
	tool := func(addr, program string, args ...string) string {
		t.Helper()
		out, err := dbtest.Client(t.Context(), program, append(args, "-d", server.URLVia(addr, "", ""))...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		return string(out)
	}
	for slot, addr := range map[string]string{"direct": server.Addr, "proxied": proxy} {
		tool(addr, "pg_recvlogical", "-S", slot, "-P", "test_decoding", "--create-slot")
	}
	server.Psql(t, "insert into r select i, repeat('x', i) from generate_series(1, 500) i; update r set n = -n; delete from r where n < -400")
	end := server.Psql(t, "select pg_current_wal_lsn()")
	received := func(addr, slot string) string {
		return tool(addr, "pg_recvlogical", "-S", slot, "--start", "--endpos", end, "-f", "-")
	}
	direct, proxied := received(server.Addr, "direct"), received(proxy, "proxied")
	if direct != proxied || strings.Count(direct, "INSERT") != 500 {
		t.Errorf("direct %d bytes, proxied %d bytes", len(direct), len(proxied))
	}
	if got := tool(proxy, "psql", "-XAt", "-c", "select 1"); got != "1\n" {
		t.Errorf("psql says %q", got)
	}
	base := filepath.Join(t.TempDir(), "base")
	tool(proxy, "pg_basebackup", "-c", "fast", "-X", "stream", "-D", base)
	if _, err := os.Stat(filepath.Join(base, "PG_VERSION")); err != nil {
		t.Error(err)
	}
	stop()
	if _, gaps := rec.events(); len(gaps) != 0 {
		t.Errorf("gaps: %v", gaps)
	}
	// pg_recvlogical twice, once to make its slot; pg_basebackup twice, for the
	// log it streams beside. psql is a session like any other.
	want := map[string]int{"database": 2, "true": 2, "": 1}
	if got := rec.settings("replication"); !maps.Equal(got, want) {
		t.Errorf("sessions recorded by their kind of replication: %v, want %v", got, want)
	}
}

// settings counts the sessions by a setting of their start packet.
func (r *recording) settings(name string) map[string]int {
	r.t.Helper()
	r.close()
	n := map[string]int{}
	in := trace.NewReader(bytes.NewReader(r.out.b.Bytes()), "memory")
	for {
		var b trace.Batch
		if err := in.Next(&b); err != nil {
			return n
		}
		for _, s := range b.States {
			n[s.Settings[name]]++
		}
	}
}
