package main

import (
	"context"
	"errors"
	"fmt"
)

type traceExportCmd struct {
	Format string    `arg:"" enum:"jsonl" help:"The form: jsonl, one JSON object per line and event."`
	Files  []string  `arg:"" name:"file" help:"Trace: files or directories of rotated files, together one trace; or - for stdin."`
	Where  whereFlag `placeholder:"EXPR" help:"Only events that match, such as 'op:select took>10ms -table:audit'; see Filters in the README (all)."`
}

func (*traceExportCmd) Help() string {
	return `Writes the events to stdout with everything that is known of them, values included: they
are what applications sent, names, addresses, amounts. The keys are described in
trace/EXPORT.md. NULL is null, a redacted value {"redacted": true}, bytes that are
not UTF-8 are {"base64": …}.`
}

func (*traceExportCmd) Examples() string {
	return `retrace trace export jsonl monday.trace > monday.jsonl
retrace trace export jsonl --where 'table:orders' monday/ | jq -c '[.sql, .values, .took_us]'`
}

// Run streams; it holds no more than a block and what waits for replies.
func (c *traceExportCmd) Run(ctx context.Context, env Env) error {
	r, err := openTraces(ctx, env, c.Files...)
	if err != nil {
		return err
	}
	err = printEvents(ctx, env, r, c.Where, eventJSON{values: true, run: isRun(r), tty: env.OutTTY}.append)
	if gaps, events := r.Gaps(); gaps > 0 {
		_, _ = fmt.Fprintf(env.Err, "export: the trace has %d gaps, with %d events missing, which are no lines here\n", gaps, events)
	}
	if !r.Complete() && len(r.Damage()) == 0 && err == nil {
		err = exitError{Code: exitDamaged, Err: errors.New("the trace has no end: it was cut off, or is still being written")}
	}
	return err
}
