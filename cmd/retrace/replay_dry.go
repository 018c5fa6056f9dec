package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/retrace-db/retrace/replay"
	"github.com/retrace-db/retrace/trace"
)

// dryReport is the JSON of a dry run.
type dryReport struct {
	Schema  int            `json:"schema"`
	Replays int            `json:"replays"` // that would be made
	Trace   *replay.Survey `json:"trace"`
	Targets []dryTarget    `json:"targets"`
}

type dryTarget struct {
	Label string `json:"label"`
	*replay.Outlook
}

// dryRun says what a replay would do, and does it to nobody: the trace is read
// once, and each target is asked.
func (c *replayCmd) dryRun(ctx context.Context, env Env, series []turn) error {
	if err := c.wouldWrite(series); err != nil {
		return err
	}
	in, err := c.open(ctx, env, trace.ReadOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // was only read
	report := dryReport{Schema: 1, Replays: len(series), Targets: []dryTarget{}}
	shown := env.watch("dry run", c.Quiet, func() step { return step{Words: "looking at trace and targets"} })
	defer shown.Stop()
	if report.Trace, err = replay.Look(in.ctx, in.Reader, c.options(series[0])); err != nil {
		return errors.Join(asReplayUsage(err), interrupted(ctx))
	}
	var failed error
	for _, t := range series[:len(c.Target)] {
		found, err := report.Trace.On(ctx, c.options(t), in.Headers())
		if err != nil {
			return asReplayUsage(err)
		}
		report.Targets = append(report.Targets, dryTarget{t.label, found})
		failed = errors.Join(failed, c.foresee(found))
	}
	shown.Stop()
	return errors.Join(c.reportDry(env, &report), failed, damaged(in.Damage()), interrupted(ctx))
}

// wouldWrite finds out whether the run could be written.
func (c *replayCmd) wouldWrite(series []turn) error {
	if path := series[0].file; path != "" && path != "-" && !c.Force {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return fmt.Errorf("%s exists: choose another name, or --force to replace it", path)
		}
	}
	return nil
}

// foresee is the error that a replay would end with.
func (c *replayCmd) foresee(o *replay.Outlook) error {
	var all []error
	for _, p := range o.Problems {
		all = append(all, errors.New(p))
	}
	if pct := o.LackingPct(); pct > float64(c.MaxDiverged) {
		all = append(all, exitError{Code: exitDiffers, Err: fmt.Errorf("%.2f %% of statements name what %s does not have, allowed are %g %% (--max-diverged)", pct, o.Target, float64(c.MaxDiverged))})
	}
	return errors.Join(all...)
}

func (c *replayCmd) reportDry(env Env, r *dryReport) error {
	if c.Output == "json" {
		return printJSON(env.Out, r)
	}
	_, err := io.WriteString(env.Out, c.dryText(r))
	return err
}

// dryText is the report for people.
func (c *replayCmd) dryText(r *dryReport) string {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(escape(fmt.Sprintf(format, args...)) + "\n") }
	t := r.Trace
	line("A dry run: nothing was sent.")
	line("The trace has %d statements in %d requests of %d sessions, up to %d at once, over %s.",
		t.Statements.Captured, t.Requests, t.Sessions, t.PeakSessions, seconds(t.SpanS))
	takes := "as long as the target needs"
	switch {
	case t.TakesS != nil:
		takes = "about " + seconds(*t.TakesS)
	case t.Speed != nil:
		takes = "less than " + seconds(t.SpanS / *t.Speed * float64(c.Loop)) + ", since silence is cut"
	}
	line("Pace %s would take %s.", t.Pace, takes)
	if t.Loops > 1 {
		line("The trace would be replayed %d times in a row.", t.Loops)
	}
	if r.Replays > 1 {
		line("There would be %d replays.", r.Replays)
	}
	if c.Before != "" {
		line("Before each replay: %s", c.Before)
	}
	line("To be sent: %d of %d statements, %d of %d events.", t.Statements.Sent, t.Statements.Captured, t.Events.Sent, t.Events.Captured)
	counted(line, "statements not to be sent", t.Statements.NotSent)
	counted(line, "other events not to be sent", without(t.Events.NotSent, t.Statements.NotSent))
	counted(line, "statements that could harm more than the data (--allow-dangerous sends them)", t.Dangerous)
	counted(line, "sessions by database", t.Databases)
	counted(line, "sessions by user", t.Users)
	for _, w := range traceWarnings(t) {
		line("Warning: %s.", w)
	}
	for i := range r.Targets {
		dryTargetText(line, &r.Targets[i])
	}
	return b.String()
}

// traceWarnings are what a replay of this trace will not do as it was recorded,
// on any target.
func traceWarnings(t *replay.Survey) []string {
	var all []string
	warn := func(n uint64, format string, args ...any) {
		if n > 0 {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	warn(t.Gaps, "the trace has %d gaps: %d events were not recorded", t.Gaps, t.Missing)
	warn(t.UnknownFrom, "%d sessions begin in the middle and nothing is known of their beginning", t.UnknownFrom)
	warn(t.Unportable, "%d statements declare parameter types by numbers that each database gives out itself: they are sent without, and the target finds the types from the statement", t.Unportable)
	return all
}

func dryTargetText(line func(string, ...any), t *dryTarget) {
	name := t.Target
	if t.Label != "" {
		name = t.Label + " = " + name
	}
	line("")
	switch {
	case t.Version == "":
		line("%s", name)
	case t.Slots == nil:
		line("%s: PostgreSQL %s", name, t.Version)
	default:
		line("%s: PostgreSQL %s, %d connections to be had", name, t.Version, *t.Slots)
	}
	for _, p := range t.Problems {
		line("  PROBLEM: %s.", strings.TrimSuffix(p, "."))
	}
	for _, w := range t.Warnings {
		line("  Warning: %s.", strings.TrimSuffix(w, "."))
	}
	if len(t.Problems) > 0 && t.Looked == 0 {
		return
	}
	if t.Lacking == 0 {
		line("  It has every table, column, function and type that %d statements name.", t.Looked)
		return
	}
	line("  %d of %d statements (%.2f %%) name what is not there now; what the trace itself creates will be:", t.Lacking, t.Looked, t.LackingPct())
	const most = 10
	for i, l := range t.Lacks {
		if i == most {
			line("    and %d more", len(t.Lacks)-most)
			break
		}
		line("    %s: %s (%s): %d", l.Database, l.What, l.Code, l.Statements)
	}
}

func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", s)
	}
	return d.Round(time.Second).String()
}
