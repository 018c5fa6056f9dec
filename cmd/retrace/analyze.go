package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/retrace-db/retrace/analyze"
	"github.com/retrace-db/retrace/trace"
)

type analyzeCmd struct {
	Traces      []string      `arg:"" name:"trace" help:"Trace or run: a file, a directory of rotated files or of several runs, or - for stdin. LABEL=TRACE names it. LABEL=RUN,RUN… or LABEL=DIRECTORY is a group of repeated runs. The first is the baseline. Or the output of another tool."`
	Where       whereFlag     `placeholder:"EXPR" help:"Count only statements that match, such as 'op:select -app:cron'; see Filters in the README (all)."`
	SkipStart   time.Duration `placeholder:"D" help:"Leave out the first 10s, say, of each run's schedule or, where it has none, time (0s)."`
	MinEffect   *percentage   `placeholder:"P%" help:"Comparing: call a change improved or degraded from so much on (5%)."`
	Confidence  *percentage   `placeholder:"P%" help:"Comparing: how sure to be of a verdict (95%)."`
	MaxDiverged *percentage   `placeholder:"P%" help:"Comparing: how many statements may differ from the recording, or fail and not in the first run, before there is nothing to compare (1%)."`
	FailIf      []gateFlag    `placeholder:"COND" sep:"none" help:"Exit with 4 if this is so, such as 'any degraded' or 'p99 > +10%'; see Gates in the README. May be repeated."`
	Output      string        `short:"o" enum:"text,json,md,csv,html" default:"text" placeholder:"text|json|md|csv|html" help:"Form of the report: text, json, md for a pull request, csv for a spreadsheet, html for a browser: one file with charts (${default})."`
	Top         int           `placeholder:"N" help:"Show the N costliest statements only (20 in text and md, all in the others)."`
	Quiet       bool          `short:"q" help:"No progress on stderr."`

	files map[string]string // of each run by its label, quoted for a shell
}

func (*analyzeCmd) Help() string {
	return `Service time is from the request, or in a pipeline from the end of what came before, to
the last byte of the reply. Response time is from when the request was due; it is there
where a replay kept a schedule. Statements that failed or were skipped are counted, but
have no part in times. Statements that differ only in their values are one. The
percentile p of n samples is the sample of rank p·n/100, rounded, to three digits.

With several traces each is compared with the first, and every fingerprint and the
total gets a verdict: improved, degraded, same, indeterminate, errored, incomparable.
A group of repeated runs is one column, and each of its runs one sample: four on each
side at least, and more for many statements.

The output of pgbench (report, -P, -l), sysbench, YCSB, yb-sample-apps and MaibornWolff's
benchmark, told by its content, stands beside the traces, without a verdict.`
}

func (*analyzeCmd) Examples() string {
	return `retrace analyze monday.trace
retrace analyze captured=monday.trace aurora=aurora.run
retrace analyze runs/
retrace analyze old=a.run,b.run,c.run,d.run 'new=runs/new-*.run'
retrace analyze --min-effect 10% before.run after.run
retrace analyze --fail-if 'any degraded' --fail-if 'p99 > +10%' before.run after.run
retrace analyze --skip-start 10s before.run after.run
retrace analyze --where 'table:orders -app:nightly' monday.trace
retrace analyze -o md before.run after.run >comment.md
retrace analyze -o html before.run after.run >report.html
retrace analyze pgbench.out article=sysbench.log monday.trace
retrace analyze -o json monday.trace | jq '.fingerprints[0]'`
}

func (c *analyzeCmd) Validate() error {
	const try = "retrace analyze monday.trace"
	if c.Top < 0 {
		return usageError(try+" --top 10", "--top %d is negative", c.Top)
	}
	if c.SkipStart < 0 {
		return usageError(try+" --skip-start 10s", "--skip-start %s is negative", c.SkipStart)
	}
	if c.MinEffect != nil && *c.MinEffect <= 0 {
		return usageError(try+" next.run --min-effect 5%", "--min-effect must be over 0")
	}
	if c.Confidence != nil && (*c.Confidence < 50 || *c.Confidence > 99.99) {
		return usageError(try+" next.run --confidence 99%", "--confidence must be from 50%% to 99.99%%")
	}
	stdin := 0
	for _, t := range c.Traces {
		_, path := labelled(t)
		for _, p := range pieces(path) {
			if p == "-" {
				stdin++
			}
		}
	}
	if stdin > 1 {
		return usageError(try, "- (stdin) can be read once")
	}
	return nil
}

// Run reads each trace once, one after the other. What was read before a
// failure or a signal is reported all the same.
func (c *analyzeCmd) Run(ctx context.Context, env Env) error {
	var events atomic.Uint64
	talk := env.watch("analyze", c.Quiet, func() step {
		return step{Words: fmt.Sprintf("%.1f million events", float64(events.Load())/1e6)}
	})
	defer talk.Stop()
	traces, reports, err := c.aggregates(ctx, &env, subjects(c.Traces))
	if err != nil {
		return err
	}
	if err := c.checkAggregates(len(traces)); err != nil {
		return err
	}
	options, err := c.options(len(traces))
	if err != nil {
		return err
	}
	if err := c.checkGates(len(traces)); err != nil {
		return err
	}
	if c.Output == "html" && env.OutTTY {
		return usageError("retrace analyze -o html monday.trace >report.html", "-o html is for a browser, not for a terminal")
	}
	analysis := analyze.New(options)
	names := labelNames{}
	for _, r := range reports {
		r.Label = names.unique(r.Label)
		analysis.AddAggregate(r)
	}
	var failed error
	for _, arg := range traces {
		err := c.add(ctx, env, analysis, names, arg, &events)
		failed = errors.Join(failed, err)
		if ctx.Err() != nil || exitOf(err) == exitFailed {
			break
		}
	}
	talk.Stop()
	if events.Load() == 0 && exitOf(failed) == exitFailed {
		return failed
	}
	report := analysis.Report()
	return errors.Join(c.gates(report), c.print(env, report), failed, interrupted(ctx))
}

// options refuses those of a comparison where there is nothing to compare with.
func (c *analyzeCmd) options(traces int) (analyze.Options, error) {
	o := analyze.Options{Where: c.Where.Filter, SkipStart: c.SkipStart, Alone: traces == 1}
	for name, flag := range map[string]*percentage{"--min-effect": c.MinEffect, "--confidence": c.Confidence, "--max-diverged": c.MaxDiverged} {
		if flag != nil && traces < 2 {
			return o, usageError("retrace analyze before.run after.run "+name+fmt.Sprintf(" %g%%", float64(*flag)), "%s is for comparing, and there is %s", name, map[bool]string{true: "one trace", false: "no trace"}[o.Alone])
		}
	}
	if c.MinEffect != nil {
		o.Effect = float64(*c.MinEffect)
	}
	if c.Confidence != nil {
		o.Confidence = float64(*c.Confidence)
	}
	if c.MaxDiverged != nil {
		o.MaxDiverged = new(float64(*c.MaxDiverged))
	}
	return o, nil
}

// add reads the runs of a subject until one fails.
func (c *analyzeCmd) add(ctx context.Context, env Env, a *analyze.Analysis, names labelNames, of subject, events *atomic.Uint64) error {
	within, group := labelNames{}, ""
	var failed error
	for _, paths := range of.runs {
		r, err := openTraces(ctx, env, paths...)
		if err != nil {
			return errors.Join(failed, err)
		}
		before := events.Load()
		seen := func(n uint64) error {
			events.Store(before + n)
			return r.ctx.Err()
		}
		own, n := ownLabel(r.Header(), paths[0]), uint64(0)
		switch {
		case !of.group:
			label := names.unique(cmp.Or(of.label, own))
			c.remember(label, paths)
			n, err = a.Add(label, r.Reader, seen)
		case group == "":
			group = names.unique(cmp.Or(of.label, seriesLabel(r.Header()), own))
			fallthrough
		default:
			n, err = a.AddMember(group, within.unique(own), r.Reader, seen)
		}
		_ = seen(n)
		if ctx.Err() != nil {
			err = nil // the signal is the reason, and is said by the exit code
		}
		failed = errors.Join(failed, err, r.Close(), damaged(r.Damage()))
		if ctx.Err() != nil || exitOf(failed) == exitFailed {
			break
		}
	}
	return failed
}

// remember keeps where a run can be looked into later: not in a pipe.
func (c *analyzeCmd) remember(label string, paths []string) {
	if c.files == nil {
		c.files = map[string]string{}
	}
	if paths[0] == "-" {
		return
	}
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = shellQuote(p)
	}
	c.files[label] = strings.Join(quoted, " ")
}

// shellQuote makes one word of a shell's of a path, which no option is.
func shellQuote(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./+:@%,", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func (c *analyzeCmd) print(env Env, r *analyze.Report) error {
	if all := c.Output != "text" && c.Output != "md"; all && c.Top > 0 && c.Top < len(r.Fingerprints) {
		r.Fingerprints = r.Fingerprints[:c.Top]
	}
	text := analyze.Text{Top: c.Top, Width: columnsOf(env), Escape: escape}
	out := bufio.NewWriter(env.Out)
	var err error
	switch c.Output {
	case "json":
		return printJSON(env.Out, r)
	case "csv":
		err = analyze.CSV(out, r, escape)
	case "html":
		err = analyze.HTML{Escape: escape, Files: c.files}.Write(out, r)
	case "md":
		err = text.Markdown(out, r)
	default:
		err = text.Write(out, r)
	}
	return errors.Join(err, out.Flush())
}

// columnsOf is the width of the terminal, within reason; 0 where there is none.
func columnsOf(env Env) int {
	f, ok := env.Out.(*os.File)
	if !ok || !env.OutTTY {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return min(max(width, 80), 200)
}

// labelled takes LABEL=TRACE apart. A file whose name holds a = is a file.
func labelled(arg string) (label, path string) {
	label, path, ok := strings.Cut(arg, "=")
	if _, err := os.Stat(arg); ok && label != "" && path != "" && err != nil {
		return label, path
	}
	return "", arg
}

// seriesLabel is what all runs of a series were called when they were made.
func seriesLabel(h *trace.Header) string {
	if h == nil || h.Run == nil {
		return ""
	}
	return h.Run.Label
}

// ownLabel is what a run was called when it was made, or else its file.
func ownLabel(h *trace.Header, path string) string {
	if h != nil && h.Run != nil && h.Run.Label != "" {
		if h.Run.Number > 0 {
			return fmt.Sprintf("%s-%d", h.Run.Label, h.Run.Number)
		}
		return h.Run.Label
	}
	if path == "-" {
		return "stdin"
	}
	name := filepath.Base(path)
	for _, ext := range []string{".part", ".trace", ".run"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// labelNames tells traces of the same name apart.
type labelNames map[string]int

func (n labelNames) unique(label string) string {
	n[label]++
	if n[label] == 1 {
		return label
	}
	return n.unique(fmt.Sprintf("%s-%d", label, n[label]))
}
