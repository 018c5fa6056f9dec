package main

import (
	"context"
	"io"

	"github.com/retrace-db/retrace/internal/wire/pseudonym"
	"github.com/retrace-db/retrace/trace"
)

type traceRedactCmd struct {
	Files   []string  `arg:"" name:"file" help:"Trace: files or directories of rotated files, together one trace; or - for stdin."`
	Mode    string    `required:"" enum:"drop,hash" placeholder:"drop|hash" help:"drop: values are taken out, and statements that had any cannot be replayed. hash: pseudonyms of the same kind and length stand in their place, the same for the same value."`
	KeyFile string    `placeholder:"FILE" help:"Key of the pseudonyms, so that several traces have the same ones; also in RETRACE_REDACT_KEY (random, and thrown away)."`
	Where   whereFlag `placeholder:"EXPR" help:"Redact only events that match, see Filters in the README (all)."`
	copyFlags
}

func (*traceRedactCmd) Help() string {
	return `The result has the sessions, events, texts, times and replies of the trace, and no value
of it: literals and comments of SQL, parameters, COPY data, what sessions have prepared.
Names stay: of tables, columns, statements, users, databases, applications. So do the
values that SET gives the server's own settings. hash shows which values are equal and
how often they come, and small ones can be guessed; see SECURITY.md.`
}

func (*traceRedactCmd) Examples() string {
	return `retrace trace redact monday.trace --mode hash -w public.trace
retrace trace redact monday.trace --mode drop -w shapes.trace
retrace trace redact monday/ --mode hash --key-file team.key -w public.trace
retrace trace redact monday.trace --mode drop --where 'table:person' -w public.trace`
}

const redactTry = "retrace trace redact monday.trace --mode hash -w public.trace"

func (c *traceRedactCmd) Validate() error {
	if c.Mode == trace.RedactDrop && c.KeyFile != "" {
		return usageError(redactTry, "--key-file makes pseudonyms, and --mode drop leaves none: use --mode hash")
	}
	return c.validate(redactTry)
}

// Run exits with 5 if a part of the input could not be read.
func (c *traceRedactCmd) Run(ctx context.Context, env Env) error {
	var key *pseudonym.Key
	if c.Mode == trace.RedactHash {
		var err error
		if key, err = redactKey(env, c.KeyFile); err != nil {
			return usageError(redactTry, "%w", err)
		}
	}
	return c.copy(ctx, env, "redact", c.Files, redactTry, func(r *trace.Reader, out io.Writer, o trace.JoinOptions) (*trace.Joined, error) {
		do := newRedacting(key, c.Where)
		options := trace.RedactOptions{Mode: c.Mode, Entry: do.entry, Event: do.event, State: do.state, JoinOptions: o}
		if c.Where.Filter != nil {
			options.Where = c.Where.String()
		}
		if key != nil {
			options.Key = key.ID()
		}
		return trace.Redact(r, out, options)
	})
}
