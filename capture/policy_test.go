package capture

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// exchange is a request as bytes, what the server answers, and what the pair
// means to whoever drops one of its events.
type exchange struct {
	client, server []byte
	events         int
	opens, closes  bool // a transaction
	copies, copied bool // begins, ends a COPY
}

func tagged(tag string, state byte) []byte {
	return append(raw('C', tag+"\x00"), raw('Z', string(state))...)
}

func simple(sql, tag string, state byte) exchange {
	return exchange{client: msgs(query(sql)), server: tagged(tag, state), events: 1}
}

// extended is a request of n executions and one Sync.
func extended(n int, state byte) exchange {
	x := exchange{events: n}
	for range n {
		x.client = append(x.client, msgs(pbes("select $1", "v")...)...)
		x.server = append(x.server, raw('1', "")...)
		x.server = append(append(x.server, raw('2', "")...), raw('C', "SELECT 1\x00")...)
	}
	x.client, x.server = append(x.client, msgs(syncMsg)...), append(x.server, raw('Z', string(state))...)
	return x
}

// copyIn is a COPY: its statement, some data, its end.
func copyIn(pieces int, state byte) []exchange {
	all := []exchange{{client: msgs(query("copy t from stdin")), server: raw('G', "\x00\x00\x00"), events: 1, copies: true}}
	for range pieces {
		all = append(all, exchange{client: raw('d', strings.Repeat("1\n", 33<<10)), events: 1})
	}
	return append(all, exchange{client: msgs(copyDone), server: tagged("COPY 1", state), events: 1, copied: true})
}

// work draws what a client does between two moments of idleness.
func work(t *rapid.T) []exchange {
	switch rapid.IntRange(0, 4).Draw(t, "work") {
	case 0:
		return []exchange{simple("select 1", "SELECT 1", 'I')}
	case 1:
		return []exchange{extended(rapid.IntRange(1, 4).Draw(t, "executions"), 'I')}
	case 2:
		return copyIn(rapid.IntRange(0, 3).Draw(t, "pieces"), 'I')
	}
	begin := simple("begin", "BEGIN", 'T')
	begin.opens = true
	all := []exchange{begin}
	for range rapid.IntRange(0, 5).Draw(t, "length") {
		switch rapid.IntRange(0, 2).Draw(t, "inside") {
		case 0:
			all = append(all, simple("select 2", "SELECT 1", 'T'))
		case 1:
			all = append(all, extended(rapid.IntRange(1, 3).Draw(t, "executions"), 'T'))
		case 2:
			all = append(all, copyIn(rapid.IntRange(0, 2).Draw(t, "pieces"), 'T')...)
		}
	}
	end := simple("commit", "COMMIT", 'I')
	if rapid.Bool().Draw(t, "extended end") {
		end = extended(2, 'I')
	}
	end.closes = true
	return append(all, end)
}

// Whatever the pressure does, what is recorded and what is in gaps make up the
// whole, and nothing that was begun in the trace is left without its end.
func TestPolicyDropsWholeThings(t *testing.T) {
	levels := []int64{0, 45, 60, 80, 120} // of 100: relaxed, easy, busy, crowded, full
	for _, highest := range []int{2, 3, 4} {
		t.Run(fmt.Sprintf("up to level %d", highest), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				const limit = 1 << 40
				r := bareRecorder(limit)
				tap := r.session(nil)
				tap.client(script{}.startPacket(), 1)
				tap.server(append(raw('R', "\x00\x00\x00\x00"), raw('Z', "I")...), 2)
				var all []exchange
				for range rapid.IntRange(1, 12).Draw(t, "works") {
					all = append(all, work(t)...)
				}
				now, behind := int64(10), 0
				for i, x := range all {
					r.queue.used.Store(levels[rapid.IntRange(0, highest).Draw(t, "level")] * limit / 100)
					tap.client(x.client, now)
					now++
					// A client may be ahead of the replies, but not across a COPY.
					ahead := !x.copies && !x.copied && rapid.Bool().Draw(t, "ahead")
					for ; behind <= i && !ahead; behind++ {
						tap.server(all[behind].server, now)
						now++
					}
				}
				for ; behind < len(all); behind++ {
					tap.server(all[behind].server, now)
				}
				tap.client(msgs(terminate), now)
				tap.end(now, clientGone)
				checkRows(t, r, all, highest)
			})
		})
	}
}

// checkRows reads what the tap queued.
func checkRows(t *rapid.T, r *Recorder, all []exchange, highest int) {
	recorded, answered, missing := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	for i := range r.stripes {
		b := r.stripes[i].take(batch{})
		for _, w := range b.rows {
			switch w.kind {
			case rowRequest:
				recorded[w.ordinal] = true
			case rowReply:
				if !recorded[w.ordinal] || answered[w.ordinal] {
					t.Fatalf("event %d: a reply too many", w.ordinal)
				}
				answered[w.ordinal] = true
			case rowGap:
				for o := w.ordinal; o <= w.prepare; o++ {
					if missing[o] {
						t.Fatalf("event %d is in two gaps", o)
					}
					missing[o] = true
				}
			case rowFault:
				t.Fatalf("fault: %s", w.reason)
			}
		}
	}
	ordinal, open, copying := uint64(1), false, false
	for i, x := range all {
		kept := 0
		for range x.events {
			if recorded[ordinal] == missing[ordinal] {
				t.Fatalf("event %d: recorded %v, in a gap %v", ordinal, recorded[ordinal], missing[ordinal])
			}
			if recorded[ordinal] {
				kept++
				if !answered[ordinal] {
					t.Fatalf("event %d has no reply", ordinal)
				}
			}
			ordinal++
		}
		if kept != 0 && kept != x.events && highest < 4 {
			t.Fatalf("exchange %d: %d of %d events recorded", i, kept, x.events)
		}
		switch {
		case x.opens:
			open = kept > 0
		case x.closes && open && kept < x.events && highest < 4, x.closes && open && kept == 0:
			t.Fatalf("exchange %d: the transaction was begun in the trace and not ended", i)
		case x.copies:
			copying = kept > 0
		case x.copied && copying && kept == 0:
			t.Fatalf("exchange %d: the COPY was begun in the trace and not ended", i)
		}
	}
	if !recorded[ordinal] || !recorded[0] {
		t.Fatal("the session's begin or end is missing")
	}
}

func TestEndsCopy(t *testing.T) {
	data := raw('d', "1\n")
	for name, c := range map[string]struct {
		b    []byte
		want bool
	}{
		"data":     {data, false},
		"done":     {append(append([]byte{}, data...), msgs(copyDone)...), true},
		"and sync": {msgs(copyDone, syncMsg), true},
		"fail":     {raw('f', "no\x00"), true},
		"empty":    {nil, false},
		"torn":     {binary.BigEndian.AppendUint32([]byte{'d'}, 1<<31), false},
		"negative": {[]byte{'d', 0, 0, 0, 0, 'c', 0, 0, 0, 4}, false},
	} {
		if got := endsCopy(c.b); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
