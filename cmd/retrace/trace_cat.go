package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
it took, rows, outcome, and the SQL with its literals folded. The keys of the JSON
are those of trace export.`
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
	line := c.text
	if c.Output == "json" {
		line = eventJSON{values: c.Values, run: isRun(r), tty: true}.append
	}
	return printEvents(ctx, env, r, c.Where, line)
}

// isRun tells whether the input holds what a replay measured.
func isRun(r *input) bool {
	h := r.Header()
	return h != nil && h.IsRun()
}

// eventPrinter appends what is printed of an event.
type eventPrinter func(b []byte, e *trace.Event, of *trace.State) ([]byte, error)

// printEvents prints the events of a trace that match, and closes it.
func printEvents(ctx context.Context, env Env, r *input, where whereFlag, line eventPrinter) error {
	out := bufio.NewWriterSize(env.Out, 64<<10)
	var buf []byte
	flushed := time.Now()
	err := r.EachWithState(func(e *trace.Event, of *trace.State) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if where.Match(e, of) {
			var err error
			if buf, err = line(buf[:0], e, of); err != nil {
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

func (c *traceCatCmd) text(b []byte, e *trace.Event, _ *trace.State) ([]byte, error) {
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
