package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrace-db/retrace/trace"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"retrace": main})
}

// The scripts hold the promises of the command line, each in its own words.
// Beside testscript's own commands they have
//
//	exits CODE COMMAND ARGS…     runs a command and wants this exit code
//	mktrace FILE [NAME=VALUE…]   makes a trace
//	cut FILE BYTES               removes bytes from its end
//	flip FILE OFFSET             damages a byte
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "mktrace": mktrace, "cut": cutFile, "flip": flipByte,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exited with %d, want %s", code, args[0])
	}
}

func cutFile(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, info.Size()-n))
}

func flipByte(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	at, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	b, err := os.ReadFile(path)
	ts.Check(err)
	b[at] ^= 0x40
	ts.Check(os.WriteFile(path, b, 0o600))
}

func mktrace(ts *testscript.TestScript, _ bool, args []string) {
	o := traceMaker{sessions: 2, events: 10}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(value)
		switch name {
		case "sessions":
			o.sessions = n
		case "events":
			o.events = n
		case "first": // ordinal from which requests are others
			o.other = n
		case "run":
			o.run, o.label, err = true, value, nil
		case "hostile":
			o.hostile, err = true, nil
		case "gap":
			o.gap, err = true, nil
		default:
			ts.Fatalf("mktrace: what is %s?", name)
		}
		ts.Check(err)
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(o.write(f))
	ts.Check(f.Close())
}

// traceMaker writes a small trace that is the same every time.
type traceMaker struct {
	sessions, events, other int
	run, hostile, gap       bool
	label                   string
	w                       *trace.Writer
}

func (o *traceMaker) write(f *os.File) error {
	h := trace.Header{
		Trace: strings.Repeat("a", 32), Engine: "postgres", EngineVersion: "15.20", MadeBy: trace.ByCapture, Tool: "retrace test",
		Started: "2026-01-02T03:04:05Z", Source: &trace.Source{Target: "postgres://db.example:5432"},
	}
	if o.run {
		h.Trace, h.MadeBy, h.Source = strings.Repeat("b", 32), trace.ByReplay, nil
		h.Run = &trace.Run{Source: strings.Repeat("a", 32), Target: "postgres://other.example", Pace: "original", Speed: 1, Label: o.label}
	}
	var err error
	o.w, err = trace.NewWriter(f, h, trace.WriterOptions{NoValues: o.run, Due: o.run, Now: func() int64 { return 0 }, BlockBytes: 4096})
	if err != nil {
		return err
	}
	for s := range o.sessions {
		if err := o.session(uint64(s + 1)); err != nil {
			return err
		}
	}
	return o.w.Close()
}

const scriptEpoch = 1767323045_000_000_000 // 2026-01-02T03:04:05Z

func (o *traceMaker) session(id uint64) error {
	err := o.w.State(&trace.State{Session: id, Start: scriptEpoch, Database: "shop", User: "app", Transaction: "idle"})
	if err != nil {
		return err
	}
	at := scriptEpoch + int64(id)*1_000_000
	for i := range o.events {
		sql, value := "select name from product where id = 0", fmt.Sprint(1000+i)
		switch {
		case o.hostile:
			sql, value = "select \x1b]0;title\x07, '' \u202e from\nt", "\x1b[31m\xff\n"
		case i%3 == 2:
			sql, value = "update product set price = 0", "9.99"
		}
		if o.other > 0 && i >= o.other {
			value = "7"
		}
		if err := o.event(id, uint64(i), at+int64(i)*10_000_000, sql, value); err != nil {
			return err
		}
	}
	if o.gap {
		n := uint64(o.events)
		return o.w.Gap(trace.Gap{Session: id, First: n, Last: n + 4, Start: at, Why: "queue_full"})
	}
	return nil
}

func (o *traceMaker) event(session, ordinal uint64, at int64, sql, value string) error {
	shape := append([]byte{0, 'Q', 1, byte(len(sql))}, sql+"\x02"...)
	id, err := o.w.Intern(trace.OpQuery, 0, shape, func() (string, []uint32) { return sql, nil })
	if err != nil {
		return err
	}
	e := trace.Event{
		Session: session, Ordinal: ordinal, Start: at, Shape: id, RequestEnd: true, HasReply: true,
		Sizes: []uint64{trace.SizeOf(len(value))}, Values: []byte(value), HasDue: o.run, Due: at - 50_000,
		Reply: trace.Reply{Took: 123_000, Tail: 3000, Rows: 1, Results: 1, Bytes: 90, State: 'I'},
	}
	if ordinal%7 == 5 {
		e.Status, e.Reason, e.Rows = trace.Error, "23505", 0
	}
	if o.run {
		e.Sizes, e.Values = nil, nil
	}
	return o.w.Event(&e)
}
