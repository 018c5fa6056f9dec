package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// beforeWait is how long the command of --before may take to end after a signal.
const beforeWait = 10 * time.Second

// before runs the command that prepares the data for a replay. What it prints
// is talk, and so goes to stderr. Without its success there is no replay: the
// data would not be those that the recording began with.
func (c *replayCmd) before(ctx context.Context, env Env, t turn) error {
	if c.Before == "" {
		return nil
	}
	if !c.Quiet {
		_, _ = fmt.Fprintf(env.Err, "%s: --before %s\n", t.verb(), escape(c.Before))
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Before)
	cmd.Stdout, cmd.Stderr = env.Err, env.Err
	cmd.Env = append(os.Environ(),
		"RETRACE_TARGET="+t.target.String(), "RETRACE_LABEL="+t.label, "RETRACE_RUN="+strconv.Itoa(max(t.number, 1)))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = beforeWait
	switch err := cmd.Run(); {
	case ctx.Err() != nil: // the signal is the reason, and is said by the exit code
		return interrupted(ctx)
	case err != nil:
		return fmt.Errorf("no replay, since --before failed: %w", err)
	}
	return nil
}
