package capture

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgproto3/v2"
)

// protocolScripts are the corners of the protocol. They are played against
// real servers only: what these answer differs from version to version, or is
// too long for a tape.
var protocolScripts = []script{
	// PG-19: what the server does not know it negotiates, once it is asked.
	{name: "PG-19 protocol 3.2", version: 3<<16 | 2, steps: []scriptStep{one("Z", query("select 1")), bye}},
	{name: "PG-19 an unknown minor version", version: 3<<16 | 9999, steps: []scriptStep{one("Z", query("select 1")), bye}},
	{name: "PG-19 an unknown option", start: map[string]string{"_pq_.foo": "1"}, steps: []scriptStep{one("Z", query("select 1")), bye}},
	{name: "PG-19 both", version: 3<<16 | 2, start: map[string]string{"_pq_.foo": "1"}, steps: []scriptStep{one("Z", query("select 1")), bye}},

	// PG-25: FATAL at connect.
	{name: "PG-25 no such role", start: map[string]string{"user": "nobody"}},
	{name: "PG-25 no role", start: map[string]string{"user": ""}},
	{name: "PG-25 a bad setting", start: map[string]string{"options": "-c nosuch=1"}},
	{name: "PG-25 a bad replication mode", start: map[string]string{"replication": "perhaps"}},

	{name: "PG-15 10,000 notices before a result", steps: []scriptStep{
		one("Z", query("do $$ begin for i in 1..10000 loop raise notice 'n %', i; end loop; end $$; select 'result'")),
		one("Z", query("select 'after'")), bye,
	}},
	{name: "PG-21 65,535 parameters", steps: []scriptStep{
		{send: pipeline([]pgproto3.FrontendMessage{parse("", cardinality(65535)), bind("", "", strings.Split(strings.Repeat(",", 65534), ",")...), describe('P', ""), execute("")}), await: "Z"},
		bye,
	}},
	// PG-22: the client takes its time between Flush and Sync, and between fetches.
	{name: "PG-22 pauses", steps: []scriptStep{
		{send: msgs(parse("", "select generate_series(1, 5)"), bind("p", ""), execute("p", 2), flushMsg), await: "s", pause: 50 * time.Millisecond},
		{send: msgs(execute("p", 2), flushMsg), await: "s", pause: 50 * time.Millisecond},
		one("C", execute("p", 2), flushMsg), one("Z", syncMsg), one("Z", execute("p"), syncMsg), bye,
	}},

	// COPY, in the ways it can end that clients seldom use.
	{name: "COPY fails midway", steps: []scriptStep{
		table, one("G", query("copy ct from stdin")),
		{send: append(raw('d', "1\tone\n"), raw('d', "two\ttwo\n")...), await: "EZ"},
		{send: append(raw('d', strings.Repeat("3\tthree\n", 1000)), msgs(copyDone)...)}, // not heard any more
		one("Z", query("select count(*) from ct")), bye,
	}},
	{name: "COPY fails midway, extended", steps: []scriptStep{
		table, one("G", parse("", "copy ct from stdin"), bind("", ""), execute(""), syncMsg),
		{send: raw('d', "one\tone\n"), await: "E"},
		{send: append(raw('d', "2\ttwo\n"), msgs(copyDone, syncMsg)...), await: "Z"},
		one("Z", query("select count(*) from ct")), bye,
	}},
	{name: "COPY is given up, extended", steps: []scriptStep{
		table, one("G", parse("", "copy ct from stdin"), bind("", ""), execute(""), syncMsg),
		{send: append(append(raw('d', "1\tone\n"), raw('f', "enough\x00")...), msgs(syncMsg)...), await: "EZ"},
		one("Z", query("select count(*) from ct")), bye,
	}},
	{name: "COPY meets another message", steps: []scriptStep{
		table, one("G", query("copy ct from stdin")),
		one("EE$", query("select 'in the middle of data'")), // the server does not go on
	}},
	{name: "COPY out fails midway", steps: []scriptStep{
		one("EZ", query("copy (select 1000 / (1000 - i) from generate_series(1, 2000) i) to stdout")), one("Z", query("select 1")), bye,
	}},
	{name: "COPY in and out in one query", steps: []scriptStep{
		table, one("G", query("copy ct from stdin; copy ct to stdout; copy ct from stdin; copy ct to stdout")),
		{send: append(raw('d', "1\tone\n"), msgs(copyDone)...), await: "CHcCG"},
		{send: append(raw('d', "2\ttwo\n"), msgs(copyDone)...), await: "CHcCZ"},
		bye,
	}},
	{name: "COPY with a Flush and a Sync in its data", steps: []scriptStep{
		table, one("G", query("copy ct from stdin")),
		{send: append(append(raw('d', "1\tone\n"), msgs(flushMsg, syncMsg)...), raw('d', "2\ttwo\n")...)},
		one("Z", copyDone), one("Z", query("select count(*) from ct")), bye,
	}},
	{name: "COPY of nothing", steps: []scriptStep{
		table, one("G", query("copy ct from stdin")), one("Z", copyDone),
		one("Z", query("copy ct to stdout")), bye,
	}},

	// PG-24: function calls that work, by both formats and in a failed transaction.
	{name: "PG-24 function calls", steps: []scriptStep{
		{send: functionCall(177, "\x00\x00\x00\x02", "\x00\x00\x00\x03"), await: "VZ"}, // int4pl(2, 3)
		{send: append(functionCall(154, "\x00\x00\x00\x07", "\x00\x00\x00\x00"), msgs(query("select 1"))...), await: "EZZ"},
		one("Z", query("begin")), one("Z", query("select 1/0")),
		{send: functionCall(177, "\x00\x00\x00\x02", "\x00\x00\x00\x03"), await: "EZ"},
		one("Z", query("rollback")), bye,
	}},
}

// functionCall calls a function of two int4 by its number, all binary.
func functionCall(oid byte, a, b string) []byte {
	return raw('F', "\x00\x00\x00"+string([]byte{oid})+"\x00\x01\x00\x01\x00\x02\x00\x00\x00\x04"+a+"\x00\x00\x00\x04"+b+"\x00\x01")
}

// cardinality is SQL with n parameters.
func cardinality(n int) string {
	var b strings.Builder
	b.WriteString("select cardinality(array[")
	for i := 1; i <= n; i++ {
		if i > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "$%d", i)
	}
	return b.String() + "]::text[])"
}
