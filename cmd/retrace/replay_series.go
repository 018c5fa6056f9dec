package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/retrace-db/retrace/internal/target"
	"github.com/retrace-db/retrace/replay"
	"github.com/retrace-db/retrace/trace"
)

// turn is one replay of those that a command asks for.
type turn struct {
	label  string
	number int // of the replays of its label, from 1; 0 where there is only one
	target *target.Target
	file   string // where the run goes, if anywhere
}

func (t turn) String() string { return fmt.Sprintf("%s-%d", t.label, t.number) }

// verb is what progress calls the replay.
func (t turn) verb() string {
	if t.number == 0 {
		return "replay"
	}
	return "replay " + t.String()
}

// labelForm is what can be the name of a file anywhere.
var labelForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// splitTarget takes LABEL=URL apart: what stands before the first = of a URL
// without a label is no label, since it has a scheme.
func splitTarget(arg string) (label, url string) {
	if label, url, ok := strings.Cut(arg, "="); ok && labelForm.MatchString(label) {
		return label, url
	}
	return "", arg
}

const seriesTry = "retrace replay monday.trace --target old=postgres://db15 --target new=postgres://db18 --runs 5 -w runs/"

// unnamed is the label of the only target where nobody gave one.
const unnamed = "run"

func (c *replayCmd) validateSeries() error {
	seen := map[string]bool{}
	for _, arg := range c.Target {
		label, _ := splitTarget(arg)
		switch {
		case label == "" && len(c.Target) > 1:
			return usageError(seriesTry, "several targets need a label each, to tell their runs apart")
		case seen[label]:
			return usageError(seriesTry, "two targets have the label %q", label)
		case label != "" && c.Label != "":
			return usageError(seriesTry, "--label has no meaning where the target has one (%s=URL)", label)
		}
		seen[label] = true
	}
	switch {
	case c.Runs < 1:
		return usageError(seriesTry, "--runs %d is less than one replay", c.Runs)
	case c.Label != "" && c.intoFolder() && !labelForm.MatchString(c.Label):
		return usageError(seriesTry, "--label %q cannot be the name of a file: use letters, digits, dots and dashes", c.Label)
	case !c.several():
		return nil
	case c.Write == "-":
		return usageError(seriesTry, "-w - has room for one run, and %d are asked for: name a directory", c.Runs*len(c.Target))
	case !c.rereadable():
		return usageError(seriesTry, "several replays read the trace several times, and a pipe can be read once: store it in a file first")
	}
	return nil
}

func (c *replayCmd) several() bool { return c.Runs*len(c.Target) > 1 }

// rereadable tells whether the trace can be read more than once. What does not
// exist is said when it is opened.
func (c *replayCmd) rereadable() bool {
	for _, path := range c.Traces {
		info, err := os.Stat(path)
		if path == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return false
		}
	}
	return true
}

// intoFolder tells whether -w names a directory.
func (c *replayCmd) intoFolder() bool {
	if c.Write == "" || c.Write == "-" {
		return false
	}
	info, err := os.Stat(c.Write)
	return c.several() || strings.HasSuffix(c.Write, "/") || err == nil && info.IsDir()
}

// series lists the replays in their order. Targets take turns, and each round
// goes the other way (old, new, new, old …): what drifts slowly, such as a
// machine that warms up or a neighbour that comes to life, then weighs on all
// of them alike.
func (c *replayCmd) series(env Env) ([]turn, error) {
	targets := make([]turn, len(c.Target))
	for i, arg := range c.Target {
		label, url := splitTarget(arg)
		to, err := target.Parse(url, env.Getenv)
		if err != nil {
			return nil, usageError(replayTry, "%w", err)
		}
		targets[i] = turn{label: label, target: to, file: c.Write}
		if label == "" {
			targets[i].label = c.Label
		}
	}
	if !c.several() && !c.intoFolder() {
		return targets, nil
	}
	var all []turn
	for n := range c.Runs {
		for i := range targets {
			t := targets[i]
			if n%2 == 1 {
				t = targets[len(targets)-1-i]
			}
			t.number = n + 1
			if t.label == "" {
				t.label = unnamed
			}
			all = append(all, t)
		}
	}
	return all, c.place(all)
}

// place gives each run its file, and finds out before the first replay whether
// all of them can be written.
func (c *replayCmd) place(all []turn) error {
	if c.Write == "" {
		return nil
	}
	if !c.DryRun {
		if err := os.MkdirAll(c.Write, 0o700); err != nil {
			return fmt.Errorf("make a directory for the runs: %w", err)
		}
	}
	for i := range all {
		all[i].file = filepath.Join(c.Write, all[i].String()+".run")
		if _, err := os.Lstat(all[i].file); err == nil && !c.Force {
			return fmt.Errorf("%s exists: choose another directory, or --force to replace it", all[i].file)
		}
	}
	return nil
}

// runSeries makes the replays one after the other. One that fails costs the
// others nothing; a signal or a mistake on the command line ends them all.
func (c *replayCmd) runSeries(ctx context.Context, env Env, turns []turn) error {
	if err := c.guard(ctx, env, turns); err != nil {
		return err
	}
	report := seriesReport{Schema: 1, Planned: len(turns), Replays: []seriesEntry{}}
	var damage []trace.Damage
	var failed error
	for _, t := range turns {
		entry, found, err := c.take(ctx, env, t)
		report.Replays = append(report.Replays, entry)
		if found != nil {
			damage = found // the same each time: it is one trace
		}
		failed = errors.Join(failed, named(t, err))
		if ctx.Err() != nil || exitOf(err) == exitUsage {
			break
		}
	}
	return errors.Join(c.reportSeries(env, &report), failed, damaged(damage), interrupted(ctx))
}

// guard finds a target that must not be replayed against before the first
// replay, not after hours. One that cannot be had fails when its turn comes.
func (c *replayCmd) guard(ctx context.Context, env Env, turns []turn) error {
	in, err := openTraces(ctx, env, c.Traces...)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // was only read
	for _, t := range turns[:len(c.Target)] {
		err := asReplayUsage(replay.Guard(ctx, c.options(t), in.Reader))
		if exitOf(err) == exitUsage {
			return err
		}
	}
	return nil
}

// take makes one replay of a series.
func (c *replayCmd) take(ctx context.Context, env Env, t turn) (seriesEntry, []trace.Damage, error) {
	entry := seriesEntry{Label: t.label, Number: t.number, Target: t.target.String()}
	err := c.before(ctx, env, t)
	if err != nil {
		return entry.failed(err), nil, err
	}
	s, damage, err := c.one(ctx, env, t)
	if entry.Summary = s; s != nil && t.file != "" {
		entry.File = &t.file
	}
	if s != nil && c.Output == "text" {
		_, writeErr := io.WriteString(env.Out, "── "+t.String()+" ──\n"+replayText(s)+c.whereToLook(s, t.file)+"\n")
		err = errors.Join(err, writeErr)
	}
	return entry.failed(err), damage, err
}

// named puts the replay's name before each of its errors; their codes stay.
func named(t turn, err error) error {
	if err == nil {
		return nil
	}
	var all []error
	for _, e := range flatten(err) {
		x := coded(e)
		if x.Err != nil {
			x.Err = fmt.Errorf("%s: %w", t, e)
		}
		all = append(all, x)
	}
	return errors.Join(all...)
}
