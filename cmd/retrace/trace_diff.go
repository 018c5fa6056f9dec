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

// diffReport is the JSON of trace diff.
type diffReport struct {
	Schema int `json:"schema"`
	*trace.Difference
}

// Run compares what clients sent.
func (c *traceDiffCmd) Run(_ context.Context, env Env) error {
	d, err := trace.Diff(paths([]string{c.A}), paths([]string{c.B}))
	if err != nil {
		return err
	}
	if c.Output == "json" {
		err = printJSON(env.Out, diffReport{1, d})
	} else {
		_, err = fmt.Fprintf(env.Out, "%s\n", diffText(d))
	}
	if d.Equal {
		return err
	}
	return errors.Join(err, exitError{Code: exitDiffers})
}

func diffText(d *trace.Difference) string {
	if d.Equal {
		return fmt.Sprintf("equal: %d sessions, %d events", d.Sessions[0], d.Events[0])
	}
	text := fmt.Sprintf("different: %d sessions with %d events against %d with %d", d.Sessions[0], d.Events[0], d.Sessions[1], d.Events[1])
	if f := d.FirstDifference; f != nil {
		text += fmt.Sprintf("\nfirst at session %d, event %d against session %d, event %d: %s",
			f.Sessions[0], f.Ordinals[0], f.Sessions[1], f.Ordinals[1], escape(f.What))
	}
	return text
}
