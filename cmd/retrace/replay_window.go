package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrace-db/retrace/trace"
)

const windowTry = replayTry + " --from 10m --to 12m"

// windowed tells whether only a part of the trace is replayed.
func (c *replayCmd) windowed() bool { return c.From != "" || c.To != "" }

func (c *replayCmd) validateWindow() error {
	return errors.Join(c.From.check("--from", windowTry), c.To.check("--to", windowTry))
}

// open opens the traces at the part that is to be replayed.
func (c *replayCmd) open(ctx context.Context, env Env, o trace.ReadOptions) (*input, error) {
	in, err := openTraces(ctx, env, c.Traces...)
	if err != nil {
		return in, err
	}
	if c.windowed() {
		start := in.Started()
		o.From, o.To = c.From.at(start), c.To.at(start)
		if o.To != 0 && o.To <= max(o.From, start) {
			_ = in.Close() // was not read
			return nil, usageError(windowTry, "--to %s is not after the beginning of the part", string(c.To))
		}
	}
	in.Options(o)
	return in, nil
}

// nothing is the error of a part in which nothing was recorded.
func (c *replayCmd) nothing(events uint64) error {
	if events > 0 || !c.windowed() {
		return nil
	}
	return fmt.Errorf("nothing was recorded between --from and --to: see trace info for start and span of the trace")
}
