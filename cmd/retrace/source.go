package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/retrace-db/retrace/trace"
)

// openTraces opens files, directories of files, or - for stdin. A signal ends
// the reading of files at once, but not that of a pipe: where Ctrl-C ends
// "retrace capture -w - | retrace analyze -", capture still has to send the end.
func openTraces(ctx context.Context, env Env, paths ...string) (*input, error) {
	for _, p := range paths {
		if p != "-" {
			continue
		}
		if len(paths) > 1 {
			return nil, usageError("retrace trace info -", "- (stdin) cannot be read together with files")
		}
		r := trace.NewReader(drained(ctx, env.In), "stdin")
		r.Follow(follower{})
		return &input{r, context.WithoutCancel(ctx)}, nil
	}
	r, err := trace.Open(paths...)
	if err == nil {
		r.Follow(follower{})
	}
	return &input{r, ctx}, err
}

// input is a trace and what may end its reading early.
type input struct {
	*trace.Reader
	ctx context.Context
}

// paths is for what reads by path: stdin has one too.
func paths(files []string) []string {
	out := slices.Clone(files)
	for i := range out {
		if out[i] == "-" {
			out[i] = "/dev/stdin"
		}
	}
	return out
}

// damaged is the error of a verb that has done what it could with a trace that
// is not whole.
func damaged(damage []trace.Damage) error {
	if len(damage) == 0 {
		return nil
	}
	all := make([]error, 0, len(damage))
	for i, d := range damage {
		if i == maxDamageLines {
			all = append(all, exitError{Code: exitDamaged, Err: fmt.Errorf("%d more damages", len(damage)-i)})
			break
		}
		all = append(all, exitError{Code: exitDamaged, Err: errors.New(damageText(d))})
	}
	return errors.Join(all...)
}

const maxDamageLines = 10

// damageText says where what is broken, in words.
func damageText(d trace.Damage) string {
	if d.To > d.From {
		return fmt.Sprintf("%s: damaged from byte %d to %d: %s", d.File, d.From, d.To, d.What)
	}
	return fmt.Sprintf("%s: damaged at byte %d: %s", d.File, d.From, d.What)
}

// whole tells the trace's own state in one word.
func whole(complete bool, damage []trace.Damage) string {
	switch {
	case len(damage) > 0:
		return "damaged"
	case !complete:
		return "no end (cut off, or still being written)"
	default:
		return "yes"
	}
}
