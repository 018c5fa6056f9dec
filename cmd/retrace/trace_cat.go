package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retrace-db/retrace/trace"
)

type traceCatCmd struct {
	Files  []string  `arg:"" name:"file" help:"Trace: files or directories of rotated files, together one trace; or - for stdin."`
	Where  whereFlag `placeholder:"EXPR" help:"Only events that match, such as 'op:select took>10ms -table:audit'; see Filters in the README (all)."`
	Output string    `short:"o" enum:"text,json" default:"text" placeholder:"text|json" help:"A line of text or one JSON object per event (${default})."`
	Values bool      `help:"Show the values of literals and parameters. They are what applications sent: names, addresses, amounts."`
}

func (*traceCatCmd) Help() string {
	return `One line per event, each session's in its order: time, session:ordinal, kind, how long
it took, rows, outcome, and the SQL with its literals folded. In JSON, bytes that are not
UTF-8 stand as {"base64": …}, and redacted values as {"redacted": true}.`
}

func (*traceCatCmd) Examples() string {
	return `retrace trace cat monday.trace | less
retrace trace cat --where 'status:error -error:23505 table:orders' monday.trace
retrace trace cat -o json --values monday.trace | jq 'select(.status == "error")'`
}

// Run prints events as they come.
func (c *traceCatCmd) Run(ctx context.Context, env Env) error {
	r, err := openTraces(ctx, env, c.Files...)
	if err != nil {
		return err
	}
	r.Options(trace.ReadOptions{NoValues: !c.Values})
	out := bufio.NewWriterSize(env.Out, 64<<10)
	line := c.text
	if c.Output == "json" {
		line = c.json
	}
	var buf []byte
	flushed := time.Now()
	err = r.EachWithState(func(e *trace.Event, of *trace.State) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if c.Where.Match(e, of) {
			if buf, err = line(buf[:0], e); err != nil {
				return err
			}
			if _, err := out.Write(buf); err != nil {
				return err
			}
		}
		if out.Buffered() == 0 {
			return nil
		}
		if now := time.Now(); now.Sub(flushed) > flushEvery {
			flushed = now
			return out.Flush()
		}
		return nil
	})
	if ctx.Err() != nil {
		err = interrupted(ctx)
	}
	return errors.Join(err, out.Flush(), r.Close(), damaged(r.Damage()))
}

// flushEvery keeps a recording that is watched live from standing still.
const flushEvery = 200 * time.Millisecond

// eventLine is the JSON of one event.
type eventLine struct {
	Start      string   `json:"start"`
	StartNS    int64    `json:"start_ns"`
	Session    uint64   `json:"session"`
	Ordinal    uint64   `json:"ordinal"`
	Op         string   `json:"op"`
	RequestEnd bool     `json:"request_end"`
	OverLimit  bool     `json:"over_limit"`
	TookUS     *float64 `json:"took_us"` // null where no reply is known
	FirstUS    *float64 `json:"first_us"`
	Rows       uint64   `json:"rows"`
	Results    uint32   `json:"results"`
	ReplyBytes uint64   `json:"reply_bytes"`
	Checksum   *string  `json:"checksum"` // of the result, hexadecimal; null where not recorded
	Status     *string  `json:"status"`
	Reason     string   `json:"reason"`
	State      string   `json:"state"`
	DueNS      *int64   `json:"due_ns"`
	Diverged   []string `json:"diverged"`
	SQL        any      `json:"sql"`
	Types      []uint32 `json:"types,omitempty"`
	Values     []any    `json:"values,omitempty"`
}

func (c *traceCatCmd) json(b []byte, e *trace.Event) ([]byte, error) {
	l := eventLine{
		Start: stamp(e.Start), StartNS: e.Start, Session: e.Session, Ordinal: e.Ordinal, Op: e.Entry.Op.String(),
		RequestEnd: e.RequestEnd, OverLimit: e.OverLimit, Diverged: divergedNames(e.Diverged), SQL: lossless(e.Entry.SQL()), Types: e.Entry.Types,
	}
	if e.HasReply {
		l.TookUS, l.FirstUS = new(float64(e.Took)/1e3), new(float64(e.Took-e.Tail)/1e3)
		l.Rows, l.Results, l.ReplyBytes = e.Rows, e.Results, e.Bytes
		if e.HasChecksum {
			l.Checksum = new(fmt.Sprintf("%016x", e.Checksum))
		}
	}
	if e.HasReply || e.Status != trace.OK {
		l.Status, l.Reason = new(e.Status.String()), e.Reason
	}
	if e.State != 0 {
		l.State = string(rune(e.State))
	}
	if e.HasDue {
		l.DueNS = &e.Due
	}
	if c.Values {
		l.Values = values(e)
	}
	line, err := json.Marshal(l)
	return append(append(b, safeJSON(line)...), '\n'), err
}

func (c *traceCatCmd) text(b []byte, e *trace.Event) ([]byte, error) {
	took, rows, outcome := "-", "-", "-"
	if e.HasReply {
		took, rows = time.Duration(e.Took).String(), fmt.Sprint(e.Rows)
	}
	if e.HasReply || e.Status != trace.OK {
		outcome = e.Status.String()
		if e.Reason != "" {
			outcome += "(" + escape(e.Reason) + ")"
		}
	}
	b = fmt.Appendf(b, "%s %-8s %-8s %10s %6s %-12s %s", stamp(e.Start), fmt.Sprintf("%d:%d", e.Session, e.Ordinal), e.Entry.Op.String(), took, rows, outcome, escape(e.Entry.SQL()))
	if c.Values && len(e.Sizes) > 0 {
		b = append(b, "  ["...)
		b = append(b, strings.Join(shownValues(e), ", ")...)
		b = append(b, ']')
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return append(b, '\n'), nil
}

func stamp(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

func divergedNames(d trace.Diverged) []string {
	names := []string{}
	if d&trace.DivergedStatus != 0 {
		names = append(names, "status")
	}
	if d&trace.DivergedRows != 0 {
		names = append(names, "rows")
	}
	if d&trace.DivergedResult != 0 {
		names = append(names, "result")
	}
	return names
}

// eachValue calls one of the functions for each value of an event.
func eachValue(e *trace.Event, null, redacted func(), value func(string)) {
	rest := e.Values
	for _, size := range e.Sizes {
		switch size {
		case trace.SizeNull:
			null()
		case trace.SizeRedacted:
			redacted()
		default:
			n := min(size-trace.SizeOf(0), uint64(len(rest)))
			value(string(rest[:n]))
			rest = rest[n:]
		}
	}
}

func values(e *trace.Event) []any {
	out := make([]any, 0, len(e.Sizes))
	eachValue(e, func() { out = append(out, nil) },
		func() { out = append(out, map[string]bool{"redacted": true}) },
		func(v string) { out = append(out, lossless(v)) })
	return out
}

func shownValues(e *trace.Event) []string {
	out := make([]string, 0, len(e.Sizes))
	eachValue(e, func() { out = append(out, "NULL") },
		func() { out = append(out, "(redacted)") },
		func(v string) { out = append(out, shownValue(v)) })
	return out
}

// shownValue puts quotes where one could not tell where a value ends.
func shownValue(v string) string {
	v = escape(v)
	if v == "" || v == "NULL" || strings.ContainsAny(v, `,[]()" `) {
		return `"` + v + `"`
	}
	return v
}

// lossless is a JSON value from which the bytes can be had again.
func lossless(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return map[string][]byte{"base64": []byte(s)}
}
