package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/retrace-db/retrace/trace"
)

type traceJoinCmd struct {
	Files []string `arg:"" name:"file" help:"Traces: files or directories of rotated files; or - for stdin."`
	copyFlags
}

func (*traceJoinCmd) Help() string {
	return `Files of one recording are put in order, whatever their names; those of several
recorders are merged by time. The result has one dictionary and fresh indexes, each
event once with its reply, the states and the gaps. Recordings and runs cannot be
joined, nor several runs: analyze takes those side by side.`
}

func (*traceJoinCmd) Examples() string {
	return `retrace trace join monday/ -w monday.trace
retrace trace join node1.trace node2.trace -w cluster.trace
retrace trace join monday/ -w - -q | retrace replay - --target postgres://postgres@127.0.0.1:5433 -w candidate.run`
}

const joinTry = "retrace trace join monday/ -w monday.trace"

func (c *traceJoinCmd) Validate() error { return c.validate(joinTry) }

// Run exits with 5 if a part of the input could not be read.
func (c *traceJoinCmd) Run(ctx context.Context, env Env) error {
	return c.run(ctx, env, "join", c.Files, joinTry)
}

type traceRepairCmd struct {
	File string `arg:"" name:"broken" help:"Trace that is torn or damaged, such as the .part that a recorder left which was killed; or - for stdin."`
	copyFlags
}

func (*traceRepairCmd) Help() string {
	return `What can be read becomes a whole trace with an index. Events that are missing between
two that could be read are named in gaps; how many there were after the last one that
could be read, nobody can know. The broken trace is not touched. Exits with 0 if nothing
was lost, 5 if something was.`
}

func (*traceRepairCmd) Examples() string {
	return `retrace trace repair monday.trace.part -w repaired.trace
retrace trace repair damaged.trace -w - -q | retrace analyze -`
}

const repairTry = "retrace trace repair damaged.trace -w repaired.trace"

func (c *traceRepairCmd) Validate() error { return c.validate(repairTry) }

// Run exits with 5 if something was lost.
func (c *traceRepairCmd) Run(ctx context.Context, env Env) error {
	return c.run(ctx, env, "repair", []string{c.File}, repairTry)
}

// copyFlags are those of verbs that write a trace.
type copyFlags struct {
	Write  string `short:"w" required:"" placeholder:"FILE" help:"The trace to write; - is stdout. Never a file that is read."`
	Force  bool   `help:"Overwrite FILE."`
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"Summary as text (on stderr) or json (on stdout)."`
	Quiet  bool   `short:"q" help:"Say nothing but what went wrong."`
}

func (c *copyFlags) validate(try string) error {
	if c.Write == "-" && c.Output == "json" {
		return usageError(try+" -o json", "-w - and -o json both want stdout")
	}
	return nil
}

func (c *copyFlags) run(ctx context.Context, env Env, verb string, inputs []string, try string) error {
	return c.copy(ctx, env, verb, inputs, try, func(r *trace.Reader, out io.Writer, o trace.JoinOptions) (*trace.Joined, error) {
		return trace.Join(r, out, o)
	})
}

// copyFunc writes what a verb makes of its input.
type copyFunc func(r *trace.Reader, out io.Writer, o trace.JoinOptions) (*trace.Joined, error)

func (c *copyFlags) copy(ctx context.Context, env Env, verb string, inputs []string, try string, do copyFunc) error {
	r, err := openTraces(ctx, env, inputs...)
	if err != nil {
		return err
	}
	out, err := newTrace(env, c.Write, c.Force, inputs, try)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	var events atomic.Uint64
	progress := env.watch(verb, c.Quiet, func() step {
		return step{Words: fmt.Sprintf("%.1f million events", float64(events.Load())/1e6)}
	})
	joined, err := do(r.Reader, out, trace.JoinOptions{Tick: func(n uint64) error {
		events.Store(n)
		return r.ctx.Err()
	}})
	progress.Stop()
	if ctx.Err() != nil {
		err = interrupted(ctx)
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return errors.Join(err, out.discard())
	}
	return errors.Join(out.done(true), c.report(env, verb, joined))
}

func (c *copyFlags) report(env Env, verb string, j *trace.Joined) error {
	r := copyReportOf(j)
	if c.Output == "json" {
		if err := printJSON(env.Out, r); err != nil {
			return err
		}
	} else if !c.Quiet {
		_, _ = fmt.Fprintf(env.Err, "%s: %s\n", verb, r.words())
	}
	return r.failure()
}

// failure says what was lost.
func (r *copyReport) failure() error {
	lost := func(format string, args ...any) error {
		return exitError{Code: exitDamaged, Err: fmt.Errorf(format, args...)}
	}
	all := []error{damaged(r.Damage)}
	if r.LostEvents > 0 {
		all = append(all, lost("lost: %d events between others, named in %d gaps", r.LostEvents, r.LostGaps))
	}
	if !r.Complete && len(r.Damage) == 0 && r.LostEvents == 0 {
		all = append(all, lost("the trace had no end: it was cut off or is still being written, and what came after cannot be known"))
	}
	return errors.Join(all...)
}
