package pg

import (
	"bytes"
	"testing"
)

// selectOnly is one transaction of pgbench -S -M prepared: 63 bytes of
// request, and its reply.
func selectOnly(t testing.TB) (request, reply []byte) {
	for i, s := range script(t, `
		> B::P_0:1234567 | D:P: | E: | S
		< 2 | T | D:-4711 | C:SELECT 1 | Z:I`) {
		if i == 0 {
			request = s.bytes
		} else {
			reply = s.bytes
		}
	}
	return request, reply
}

func prepared(t testing.TB) *Conversation {
	c := NewConversation(nothing{}, Options{LoggedIn: true, Ordinal: 1})
	feed(t, c, script(t, "> P:P_0:select abalance from pgbench_accounts where aid = $1; | S\n< 1 | Z:I"))
	return c
}

func feed(t testing.TB, c *Conversation, steps []step) {
	t.Helper()
	for _, s := range steps {
		f := c.Client
		if s.dir == '<' {
			f = c.Server
		}
		if err := f(s.bytes, 1); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkConversation(b *testing.B) {
	for _, w := range []struct{ name, script string }{
		{"prepared", "> B::P_0:1234567 | D:P: | E: | S\n< 2 | T | D:-4711 | C:SELECT 1 | Z:I"},
		{"extended", "> P::select abalance from pgbench_accounts where aid = $1; | B:::1234567 | D:P: | E: | S\n< 1 | 2 | T | D:-4711 | C:SELECT 1 | Z:I"},
		{"simple", "> Q:select abalance from pgbench_accounts where aid = 1234567;\n< T | D:-4711 | C:SELECT 1 | Z:I"},
		{"pipelined", "> B::P_0:1 | D:P: | E: | B::P_0:2 | D:P: | E: | B::P_0:3 | D:P: | E: | B::P_0:4 | D:P: | E: | S\n< 2 | T | D:1 | C:SELECT 1 | 2 | T | D:1 | C:SELECT 1 | 2 | T | D:1 | C:SELECT 1 | 2 | T | D:1 | C:SELECT 1 | Z:I"},
	} {
		b.Run(w.name, func(b *testing.B) {
			c := prepared(b)
			steps := script(b, w.script)
			events := c.next
			feed(b, c, steps)
			events = c.next - events
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = c.Client(steps[0].bytes, int64(i))
				_ = c.Server(steps[1].bytes, int64(i))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
		})
	}
}

// Rows are skipped, not copied: what a large result costs per row, and what its
// checksum adds.
func BenchmarkRows(b *testing.B) {
	b.Run("skipped", func(b *testing.B) { benchmarkRows(b, false) })
	b.Run("hashed", func(b *testing.B) { benchmarkRows(b, true) })
}

func benchmarkRows(b *testing.B, checksum bool) {
	c := prepared(b)
	c.rows.wanted = checksum
	request, _ := selectOnly(b)
	row := backend(b, "D:0123456789012345678901234567890123456789")
	rows := bytes.Repeat(row, 100)
	_ = c.Client(request, 1)
	_ = c.Server(append(backend(b, "2"), backend(b, "T")...), 1)
	b.SetBytes(int64(len(rows)))
	for b.Loop() {
		if err := c.Server(rows, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/row")
}

func BenchmarkSplit(b *testing.B) {
	request, _ := selectOnly(b)
	for _, w := range []struct {
		name string
		b    []byte
	}{
		{"prepared", request},
		{"extended", event(b, "P::select abalance from pgbench_accounts where aid = $1; | B:::1234567 | D:P: | E: | S")},
		{"simple", event(b, "Q:select abalance from pgbench_accounts where aid = 1234567;")},
		{"update", event(b, "Q:UPDATE pgbench_accounts SET abalance = abalance + -4711 WHERE aid = 1234567;")},
	} {
		b.Run(w.name, func(b *testing.B) {
			var s Splitter
			b.ReportAllocs()
			b.SetBytes(int64(len(w.b)))
			for b.Loop() {
				s.Split(w.b)
			}
		})
	}
}

// No allocation for an event of the usual kinds once a session is warm.
func TestNothingIsAllocated(t *testing.T) {
	c := prepared(t)
	for _, s := range []string{
		"> B::P_0:1234567 | D:P: | E: | S\n< 2 | T | D:-4711 | C:SELECT 1 | Z:I",
		"> P::select 1 | B:::1234567 | D:P: | E: | S\n< 1 | 2 | T | D:-4711 | C:SELECT 1 | Z:I",
		"> Q:select abalance from pgbench_accounts where aid = 1234567;\n< T | D:-4711 | C:SELECT 1 | N | Z:T",
		"> Q:copy t from stdin\n< G\n> d:abc | d:def | c\n< C:COPY 2 | Z:I",
		"> B::P_0:1 | E: | B::P_0:2 | E: | S\n< 2 | D:1 | C:SELECT 1 | 2 | D:1 | C:SELECT 1 | Z:I",
		"> B:p:P_0:1 | E:p:1 | S\n< 2 | D:1 | s | Z:T\n> E:p:1 | C:P:p | S\n< C:SELECT 0 | 3 | Z:I",
	} {
		steps := script(t, s)
		feed(t, c, steps)
		if n := testing.AllocsPerRun(100, func() { feed(t, c, steps) }); n != 0 {
			t.Errorf("%v allocations for\n%s", n, s)
		}
		// cut in the middle of a message, too
		var halves []step
		for _, st := range steps {
			n := len(st.bytes) / 2
			halves = append(halves, step{st.dir, st.bytes[:n]}, step{st.dir, st.bytes[n:]})
		}
		feed(t, c, halves)
		if n := testing.AllocsPerRun(100, func() { feed(t, c, halves) }); n != 0 {
			t.Errorf("%v allocations, cut, for\n%s", n, s)
		}
		var sp Splitter
		sp.Split(steps[0].bytes)
		if n := testing.AllocsPerRun(100, func() { sp.Split(steps[0].bytes); sp.Secret() }); n != 0 {
			t.Errorf("%v allocations of Split for\n%s", n, s)
		}
	}
}
