package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrace-db/retrace/trace"
)

type traceDiffCmd struct {
	A      string `arg:"" name:"a" help:"Trace: a file or a directory of rotated files."`
	B      string `arg:"" name:"b" help:"The trace to hold against it."`
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"text|json" help:"Form of the answer (${default})."`
}

func (*traceDiffCmd) Help() string {
	return `Two traces are equal when their sessions can be put in pairs that sent the same
requests, byte for byte, as the same users to the same databases. Times and replies are
not compared. Exempt are connection ids, cancel requests, and events that hold no bytes:
redacted ones and those over the limit. Exits with 0 when they are equal, with 3 when not.`
}

func (*traceDiffCmd) Examples() string {
	return "retrace trace diff monday.trace again.trace && echo equal"
}

// Validate refuses what can be read only once.
func (c *traceDiffCmd) Validate() error {
	if c.A == "-" || c.B == "-" {
		return usageError("retrace trace diff monday.trace again.trace", "- (stdin) cannot be compared, since a comparison reads its inputs more than once")
	}
	return nil
}

// diffReport is the JSON of trace diff.
type diffReport struct {
	Schema int `json:"schema"`
	*trace.Difference
}

// Run compares what clients sent.
func (c *traceDiffCmd) Run(_ context.Context, env Env) error {
	d, err := trace.Diff([]string{c.A}, []string{c.B})
	if err != nil {
		return err
	}
	if c.Output == "json" {
		err = printJSON(env.Out, diffReport{1, d})
	} else {
		_, err = fmt.Fprintf(env.Out, "%s\n", diffText(d))
	}
	if !d.Equal {
		err = errors.Join(err, exitError{Code: exitDiffers})
	}
	for i, name := range []string{c.A, c.B} {
		if !d.Complete[i] {
			err = errors.Join(err, exitError{Code: exitDamaged, Err: fmt.Errorf("%s: not whole (retrace trace verify says where); compared was what could be read", name)})
		}
	}
	return err
}

func diffText(d *trace.Difference) string {
	text := fmt.Sprintf("equal: %d sessions, %d events", d.Sessions[0], d.Events[0])
	if !d.Equal {
		text = fmt.Sprintf("different: %d sessions with %d events against %d with %d", d.Sessions[0], d.Events[0], d.Sessions[1], d.Events[1])
	}
	if d.Exempt[0]+d.Exempt[1] > 0 {
		text += fmt.Sprintf("\nleft out as exempt: %d and %d events", d.Exempt[0], d.Exempt[1])
	}
	if f := d.FirstDifference; f != nil {
		text += fmt.Sprintf("\nfirst at %s against %s: %s", place(f, 0), place(f, 1), escape(f.What))
	}
	return text
}

func place(f *trace.FirstDifference, side int) string {
	if f.Sessions[side] == 0 {
		return "nothing"
	}
	return fmt.Sprintf("session %d, event %d", f.Sessions[side], f.Ordinals[side])
}
