package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// Env is all of the outside world a verb may touch.
type Env struct {
	In     io.Reader
	Out    io.Writer // the product
	Err    io.Writer // the talk
	OutTTY bool
	ErrTTY bool
	Getenv func(string) string
}

// grammar is the command line: one field per verb, in the order of the help.
type grammar struct {
	Capture captureCmd `cmd:"" help:"Record what applications ask a database, through a proxy."`
	Replay  replayCmd  `cmd:"" help:"Send a recorded trace to another server and measure what comes back."`
	Analyze analyzeCmd `cmd:"" help:"Say what each statement cost, in one trace or side by side in several."`
	Trace   traceCmd   `cmd:"" help:"Look into a trace, export it, join several, repair one."`
	Sim     simCmd     `cmd:"" help:"A simulated target whose truth is known: plain."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

const description = `retrace records database traffic at the wire, re-issues it against candidate databases, and compares what each statement cost.`

// Examples stand at the end of the help of the whole.
func (*grammar) Examples() string {
	return `retrace capture --listen 127.0.0.1:6432 --target postgres://127.0.0.1:5432 -w monday.trace
retrace replay monday.trace --target postgres://postgres@127.0.0.1:5433 -w candidate.run
retrace analyze monday.trace candidate.run`
}

// run does what the arguments ask and returns the exit code.
func run(ctx context.Context, env Env, args []string) int {
	err := parseAndRun(ctx, env, args)
	if errors.Is(err, errHelp) {
		err = nil
	}
	return report(env.Err, err)
}

func parseAndRun(ctx context.Context, env Env, args []string) error {
	if len(args) == 0 {
		return usageError("retrace --help", "no verb given")
	}
	parser, err := newParser(env)
	if err != nil {
		return fmt.Errorf("broken grammar: %w", err)
	}
	verb, err := parser.Parse(args)
	if err != nil {
		return asUsage(err)
	}
	verb.BindTo(ctx, (*context.Context)(nil))
	verb.Bind(env)
	return verb.Run()
}

// newParser builds the parser. Help is ours, so that nothing but main exits.
func newParser(env Env) (*kong.Kong, error) {
	return kong.New(&struct {
		grammar
		Help helpFlag `short:"h" help:"Show this help."`
	}{},
		kong.Name("retrace"),
		kong.Description(description),
		kong.NoDefaultHelp(),
		kong.Writers(env.Out, env.Err),
	)
}

// asUsage turns the parser's errors into ours: exit 2 and a line to try.
func asUsage(err error) error {
	var parse *kong.ParseError
	if errors.Is(err, errHelp) || !errors.As(err, &parse) {
		return err
	}
	var own exitError // a Validate or AfterApply of a verb has said more
	if errors.As(err, &own) {
		return own
	}
	try := "retrace --help"
	if parse.Context != nil && parse.Context.Selected() != nil {
		try = parse.Context.Selected().FullPath() + " --help"
	}
	return exitError{Code: exitUsage, Err: errors.New(err.Error()), Try: try}
}

const helpWidth = 100

var errHelp = errors.New("help was shown")

type helpFlag bool

// IgnoreDefault keeps the parser from setting the flag, and so from helping
// where nobody asked.
func (helpFlag) IgnoreDefault() {}

// BeforeReset shows the help before anything is validated: who asks for help
// has not given the arguments yet.
func (helpFlag) BeforeReset(ctx *kong.Context) error {
	options := kong.HelpOptions{Compact: true, WrapUpperBound: helpWidth, ValueFormatter: kong.DefaultHelpValueFormatter}
	err := kong.DefaultHelpPrinter(options, ctx)
	if err == nil {
		err = printExamples(ctx)
	}
	if err != nil { // stdout, not the command line, is at fault
		return exitError{Code: exitFailed, Err: err}
	}
	return errHelp
}

// printExamples ends the help with command lines that can be copied.
func printExamples(ctx *kong.Context) error {
	node := ctx.Model.Node
	if selected := ctx.Selected(); selected != nil {
		node = selected
	}
	text := examples(node.Target)
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\nExamples:\n  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
	return err
}

func examples(target reflect.Value) string {
	if target.CanAddr() {
		target = target.Addr()
	}
	if e, ok := target.Interface().(interface{ Examples() string }); ok {
		return e.Examples()
	}
	return ""
}
