package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/retrace-db/retrace/trace"
)

type traceCutCmd struct {
	Files    []string  `arg:"" name:"file" help:"Trace: files or directories of rotated files, together one trace; or - for stdin."`
	From     moment    `placeholder:"WHEN" help:"Where the part begins: since the start of the trace, such as 10m, or a time such as 2026-05-04T14:00:00Z (the start)."`
	To       moment    `placeholder:"WHEN" help:"Where it ends, as --from (the end)."`
	Sessions []uint64  `placeholder:"ID,…" help:"Only these sessions, by the numbers that trace cat shows (all)."`
	Where    whereFlag `placeholder:"EXPR" help:"Only sessions that match, by db:, user:, app: and session:; see Filters in the README (all)."`
	copyFlags
}

func (*traceCutCmd) Help() string {
	return `The part is a trace that can be replayed by itself: it begins with what each session
that is open there has prepared and set. It has the events that start in it, with
their replies. Of files only what is needed is read. Events keep their names, so that
a run of the part can be compared with one of the whole.`
}

func (*traceCutCmd) Examples() string {
	return `retrace trace cut monday.trace --from 10m --to 12m -w part.trace
retrace trace cut monday/ --from 2026-05-04T14:00:00Z --to 2026-05-04T14:00:10Z -w incident.trace
retrace trace cut monday.trace --sessions 3021,3022 -w two.trace
retrace trace cut monday.trace --where 'db:shop -app:nightly' -w shop.trace`
}

const cutTry = "retrace trace cut monday.trace --from 10m --to 12m -w part.trace"

func (c *traceCutCmd) Validate() error {
	if c.From == "" && c.To == "" && len(c.Sessions) == 0 && c.Where.Filter == nil {
		return usageError(cutTry, "nothing says which part: give --from, --to, --sessions or --where")
	}
	if !c.Where.OnlySessions() {
		return usageError("retrace trace cut monday.trace --where 'db:shop -app:nightly' -w part.trace",
			"--where %s asks about events, and a part has whole sessions: db:, user:, app: and session: can choose these", c.Where)
	}
	if err := errors.Join(c.From.check("--from", cutTry), c.To.check("--to", cutTry)); err != nil {
		return err
	}
	return c.validate(cutTry)
}

// Run exits with 5 if a part of the input could not be read.
func (c *traceCutCmd) Run(ctx context.Context, env Env) error {
	return c.copy(ctx, env, "cut", c.Files, cutTry, c.cut)
}

func (c *traceCutCmd) cut(r *trace.Reader, out io.Writer, o trace.JoinOptions) (*trace.Joined, error) {
	start := r.Started()
	cut := trace.CutOptions{From: c.From.at(start), To: c.To.at(start), Sessions: c.Sessions, JoinOptions: o}
	if c.Where.Filter != nil {
		cut.Keep, cut.Where = c.Where.MatchSession, c.Where.String()
	}
	if cut.To != 0 && cut.To <= max(cut.From, start) {
		return nil, usageError(cutTry, "--to %s is not after %s", string(c.To), c.beginning())
	}
	j, err := trace.Cut(r, out, cut)
	if errors.Is(err, trace.ErrNothing) {
		err = fmt.Errorf("%w: see trace info for its start and span", err)
	}
	return j, err
}

func (c *traceCutCmd) beginning() string {
	if c.From == "" {
		return "the start of the trace"
	}
	return "--from " + string(c.From)
}
