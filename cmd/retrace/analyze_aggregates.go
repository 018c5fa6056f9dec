package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/retrace-db/retrace/analyze/aggregate"
)

// aggregates reads those of the arguments that are reports of other tools, told
// by their content, and returns the rest: traces, or what is neither and is
// refused by who opens it as one.
func (c *analyzeCmd) aggregates(ctx context.Context, env *Env, all []subject) (traces []subject, reports []aggregate.Run, err error) {
	for _, s := range all {
		r, err := foreignRun(ctx, env, s)
		switch {
		case err != nil:
			return nil, nil, err
		case r == nil:
			traces = append(traces, s)
		default:
			reports = append(reports, *r)
		}
	}
	return traces, reports, nil
}

// foreignRun reads an argument that another tool has written; nil if it is none.
func foreignRun(ctx context.Context, env *Env, s subject) (*aggregate.Run, error) {
	for _, paths := range s.runs {
		in, err := foreignReport(ctx, env, paths)
		if err != nil {
			return nil, err
		}
		if in == nil {
			continue
		}
		if s.group {
			_ = in.Close() // was not read
			return nil, usageError("retrace analyze "+paths[0], "a group is of traces, and %s is the output of another tool", paths[0])
		}
		r, err := aggregate.Read(in)
		if err := errors.Join(err, in.Close()); err != nil {
			return nil, fmt.Errorf("analyze %s: %w", paths[0], err)
		}
		if r.Label = s.label; r.Label == "" {
			r.Label = ownLabel(nil, paths[0])
		}
		return r, nil
	}
	return nil, nil
}

// foreignReport opens a file, or stdin, that another tool has written; nil if it
// is none. What was looked at of stdin stays there for who reads it next.
func foreignReport(ctx context.Context, env *Env, paths []string) (io.ReadCloser, error) {
	if len(paths) != 1 {
		return nil, nil
	}
	if paths[0] == "-" {
		in := bufio.NewReaderSize(drained(ctx, env.In), aggregate.Head)
		env.In = in
		if !foreignHead(in) {
			return nil, nil
		}
		return io.NopCloser(in), nil
	}
	if info, err := os.Stat(paths[0]); err != nil || !info.Mode().IsRegular() {
		return nil, nil // a trace, or missing, and then said so
	}
	f, err := os.Open(paths[0])
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f, aggregate.Head)
	if !foreignHead(in) {
		return nil, f.Close()
	}
	return struct {
		io.Reader
		io.Closer
	}{in, f}, nil
}

// foreignHead looks no further than at the first byte of a trace, so that one
// that is still being written is read as it comes.
func foreignHead(in *bufio.Reader) bool {
	first, _ := in.Peek(1)
	if len(first) == 0 || first[0] == 0xF7 {
		return false
	}
	head, _ := in.Peek(aggregate.Head)
	return aggregate.Known(head)
}

// checkAggregates refuses what is asked of traces where there is none.
func (c *analyzeCmd) checkAggregates(traces int) error {
	const why = "%s is about single statements, and there is no trace, only what other tools reported"
	switch {
	case traces > 0:
		return nil
	case c.Where.Filter != nil:
		return usageError("retrace analyze --where op:select monday.trace pgbench.out", why, "--where")
	case c.SkipStart != 0:
		return usageError("retrace analyze --skip-start 10s monday.trace pgbench.out", why, "--skip-start")
	case c.Output == "html":
		return usageError("retrace analyze -o html monday.trace pgbench.out >report.html", why, "-o html")
	case len(c.FailIf) > 0:
		return usageError("retrace analyze --fail-if 'p99 > 10ms' monday.trace pgbench.out", why, "--fail-if")
	default:
		return nil
	}
}
