package capture

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/jackc/pgproto3/v2"
)

func one(await string, all ...pgproto3.FrontendMessage) scriptStep {
	return scriptStep{send: msgs(all...), await: await}
}

func raw(kind byte, body string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(b, body...)
}

func pbes(sql string, values ...string) []pgproto3.FrontendMessage {
	return []pgproto3.FrontendMessage{parse("", sql), bind("", "", values...), execute("")}
}

func pipeline(parts ...[]pgproto3.FrontendMessage) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, msgs(p...)...)
	}
	return append(b, msgs(syncMsg)...)
}

var (
	table = one("Z", query("create temp table ct(n int, s text)"))
	bye   = one("$", terminate)
)

// scripts are sessions that have been trouble to somebody's proxy.
var scripts = []script{
	{name: "pipeline-error", steps: []scriptStep{ // PG-02
		table,
		{send: pipeline(pbes("insert into ct values(90)"), pbes("select 1/0"), pbes("insert into ct values(91)")), await: "Z"},
		one("Z", query("select count(*) from ct where n in (90, 91)")), bye,
	}},
	{name: "unnamed-statements", steps: []scriptStep{ // PG-06
		{send: pipeline(pbes("select 11"), pbes("select 22")), await: "Z"}, bye}},
	{name: "close", steps: []scriptStep{ // PG-08
		one("Z", closing('S', "never"), closing('P', "never"), syncMsg),
		one("Z", parse("x", "not sql"), closing('S', "x"), syncMsg),
		one("Z", parse("s2", "select 'a'"), closing('S', "s2"), parse("s2", "select 'b'"), bind("", "s2"), execute(""), syncMsg), bye,
	}},
	{name: "prepared-twice", steps: []scriptStep{ // PG-09
		one("Z", parse("s1", "select 1"), parse("s1", "select 2"), syncMsg),
		one("Z", bind("", "s1"), execute(""), syncMsg),
		one("Z", query("discard all")),
		one("Z", bind("", "s1"), execute(""), syncMsg),
		one("Z", query("prepare a as select 1")), one("Z", query("discard all")),
		one("Z", query("prepare a as select 2")), one("Z", query("execute a")), one("Z", query("deallocate all")),
		one("Z", query("execute a")), bye,
	}},
	{name: "empty-queries", steps: []scriptStep{ // PG-11
		one("Z", query("")), one("Z", query(";;")), one("Z", query("-- c")), one("Z", query("select 1; ; select 2")),
		one("Z", query(" ;; ; begin; end")),
		{send: pipeline(pbes("-- test")), await: "Z"},
		bye,
	}},
	{name: "error-in-many", steps: []scriptStep{ // PG-12
		table, one("Z", query("insert into ct values(77); select 1/0; insert into ct values(78)")),
		one("Z", query("select count(*) from ct")), bye,
	}},
	{name: "parameters", steps: []scriptStep{ // PG-13
		one("Z", parse("", "select $1::text, $2::bytea, $3::text"), &pgproto3.Bind{
			ParameterFormatCodes: []int16{0, 1, 0}, Parameters: [][]byte{[]byte("abcdefghijklmn"), {0, 255, 0}, nil},
			ResultFormatCodes: []int16{0, 1, 0},
		}, describe('P', ""), execute(""), syncMsg),
		one("Z", parse("", "select $1::text, $2::text"), bind("", "", "", "\x01"), execute(""), syncMsg), bye,
	}},
	{name: "asynchronous", steps: []scriptStep{ // PG-15
		one("Z", query("listen ch")), one("AZ", query("notify ch, 'hi'")),
		one("Z", query("do $$ begin for i in 1..20 loop raise notice 'n %', i; end loop; end $$")),
		one("Z", query("set timezone to 'Asia/Tokyo'")), one("Z", query("select 'after'")), bye,
	}},
	{name: "copy", steps: []scriptStep{
		table, one("G", query("copy ct from stdin")),
		{send: append(raw('d', "1\tone\n2\ttwo\n"), raw('d', strings.Repeat("3\tthree\n", 20000))...)},
		one("Z", copyDone), one("Z", query("copy ct to stdout")),
		one("G", query("copy ct from stdin")),
		{send: append(raw('d', "4\tfour\n"), raw('f', "no more\x00")...), await: "Z"},
		one("G", query("copy ct from stdin")),
		{send: append(raw('d', "five\tfive\n"), msgs(copyDone)...), await: "Z"},
		one("Z", query("select count(*) from ct")), bye,
	}},
	{name: "copy-extended", steps: []scriptStep{
		table, one("G", parse("", "copy ct from stdin"), bind("", ""), describe('P', ""), execute(""), syncMsg),
		{send: append(raw('d', "1\tone\n"), msgs(copyDone, syncMsg)...), await: "Z"},
		one("Z", query("select n + 0, s || '' from ct")), bye,
	}},
	{name: "flush", steps: []scriptStep{ // PG-22
		one("C", parse("", "select 1"), bind("", ""), describe('P', ""), execute(""), flushMsg),
		one("Z", syncMsg),
		{send: append(msgs(query("set application_name to 'x'")), pipeline(pbes("select 2"))...), await: "ZZ"},
		one("ZZZ", query("select 1"), query("select 1/0"), query("select 3")),
		one("t", parse("d", "select $1::int"), describe('S', "d"), flushMsg), one("Z", bind("", "d", "5"), execute(""), syncMsg), bye,
	}},
	{name: "portals", steps: []scriptStep{
		one("Z", query("begin")),
		one("Z", parse("", "select generate_series(1, 10)"), bind("p", ""), execute("p", 3), execute("p", 3), syncMsg),
		one("Z", execute("p"), closing('P', "p"), syncMsg), one("Z", query("commit")), bye,
	}},
	{name: "bytes", steps: []scriptStep{ // PG-23
		one("Z", query("set client_encoding to latin1")), one("Z", query("select '\xe9'")),
		one("Z", query("set client_encoding to utf8")), one("Z", query("select '\xff\xfe'")),
		{send: raw('Q', "select 1\x00select 2\x00"), await: "E"},
		bye,
	}},
	{name: "function-call", steps: []scriptStep{ // PG-24
		{send: raw('F', "\x00\x00\x00\xb1\x00\x01\x00\x01\x00\x02\x00\x00\x00\x04\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x03\x00\x01"), await: "Z"}, bye}},
	{name: "replication", start: map[string]string{"replication": "database"}, steps: []scriptStep{
		one("Z", query("SHOW server_version")), one("Z", query("select 1")), bye,
	}},
	{name: "transactions", steps: []scriptStep{
		one("Z", query("begin")), one("Z", query("select 1/0")), one("Z", query("select 1")), one("Z", query("commit")),
		one("Z", query("begin; select 1; rollback")), bye,
	}},
	{name: "terminated", steps: []scriptStep{ // PG-25
		one("$", query("select pg_terminate_backend(pg_backend_pid())"))}},
	{name: "unknown-message", steps: []scriptStep{
		one("Z", query("select 1")), {send: raw('y', "what"), await: "$"},
	}},
	{name: "big", steps: []scriptStep{
		one("Z", query("select length('"+strings.Repeat("x", 3<<20)+"')")),
		one("Z", query("select repeat('y', 5000000)")), bye,
	}},
	{name: "no-database", start: map[string]string{"database": "nowhere"}, steps: nil},
	{name: "many-small", steps: []scriptStep{
		{send: bytes.Repeat(msgs(query("select 1")), 500), await: strings.Repeat("Z", 500)}, bye,
	}},
}
