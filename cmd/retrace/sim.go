package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/retrace-db/retrace/internal/sim"
)

// simCmd holds the profiles of simulated targets.
type simCmd struct {
	Plain simPlainCmd `cmd:"" help:"A PostgreSQL server whose latencies and errors are known."`
}

func (*simCmd) Examples() string { return (&simPlainCmd{}).Examples() }

type simPlainCmd struct {
	Listen         string        `default:"127.0.0.1:5499" placeholder:"HOST:PORT" help:"Where to listen, on this machine only (${default})."`
	Latency        []sim.Latency `sep:"none" placeholder:"RULE" help:"How long statements take, as in lognormal(2ms,0.5), for all or after text:\"WORDS\": for some. Repeat it for more; nothing takes no time."`
	Errors         []sim.Fault   `sep:"none" placeholder:"RULE" help:"Which share of statements fails, as in 40001:2%, or text:\"update\":40001:2%. Repeat it for more."`
	Freeze         sim.Freeze    `placeholder:"FOR@AT[/EVERY]" help:"Stand still for a time, once or again and again, counted from the first statement: 2s@10s, 2s@10s/30s."`
	Drop           percentage    `default:"0%" placeholder:"P%" help:"Break the connection in the middle of this share of answers (${default})."`
	Rows           int           `default:"1" placeholder:"N" help:"Rows of every statement that is not understood; with 0, keys nobody has written are not there (${default})."`
	MaxConnections int           `default:"0" placeholder:"N" help:"Refuse connections over this many; 0 refuses none (${default})."`
	Seed           uint64        `default:"1" placeholder:"N" help:"The same seed and number of statements meet the same times and errors (${default})."`
	Duration       time.Duration `placeholder:"D" help:"End by itself after this time, such as 10m."`
	Output         string        `short:"o" enum:"text,json" default:"text" placeholder:"text|json" help:"Form of the truth on stdout (${default})."`
}

const simTry = "retrace sim plain --latency 'lognormal(2ms,0.5)'"

func (*simPlainCmd) Help() string {
	return `Answers like a PostgreSQL server, each statement after a time drawn from a
distribution. SIGINT or SIGTERM ends it and prints the truth: how many statements
there were, what failed, and how long answers took, as drawn and as they really left.

Distributions: 2ms or const(2ms), uniform(1ms,3ms), exp(MEAN), normal(MEAN,SD),
lognormal(MEDIAN,SIGMA), pareto(LEAST,ALPHA), and mixtures of them: 2ms+1%:50ms is
2 ms for 99 % and 50 ms for 1 %.

What is written by key is read back: SELECT, INSERT, UPDATE and DELETE of one row by
"key = value". Other statements succeed with --rows rows; COPY is refused. Everybody
may log in, without a password: so it listens on this machine only.`
}

func (*simPlainCmd) Examples() string {
	return `retrace sim plain --latency 'lognormal(2ms,0.5)' --errors 40001:2%
retrace sim plain --latency '2ms+1%:50ms' --latency 'text:"update":exp(5ms)' --freeze 2s@10s/30s --seed 7 -o json`
}

// Validate finds what is wrong before anything is opened.
func (c *simPlainCmd) Validate() error {
	host, _, err := net.SplitHostPort(c.Listen)
	switch {
	case err != nil:
		return usageError(simTry+" --listen 127.0.0.1:5499", "--listen %q is not HOST:PORT", c.Listen)
	case host != "localhost" && !net.ParseIP(host).IsLoopback():
		return usageError(simTry+" --listen 127.0.0.1:5499", "--listen %s: other machines could reach it, and it asks for no password", c.Listen)
	case c.Rows < 0 || c.Rows > 1_000_000:
		return usageError(simTry+" --rows 1", "--rows %d is not a number from 0 to 1000000", c.Rows)
	case c.MaxConnections < 0:
		return usageError(simTry+" --max-connections 100", "--max-connections %d is negative", c.MaxConnections)
	case c.Duration < 0:
		return usageError(simTry+" --duration 10m", "--duration %s is negative", c.Duration)
	}
	return c.ambiguous()
}

// ambiguous finds rules of which only one could hold, and shares of more than
// there is.
func (c *simPlainCmd) ambiguous() error {
	seen := map[string]bool{}
	for _, l := range c.Latency {
		if seen[l.Match()] {
			return usageError(simTry, "--latency %s: there is one for the same statements already", l)
		}
		seen[l.Match()] = true
	}
	shares := map[string]float64{}
	for _, f := range c.Errors {
		if shares[f.Match()] += f.Share; shares[f.Match()] > 1 {
			return usageError(simTry+" --errors 40001:2%", "--errors %s: more than 100%% of the same statements would fail", f)
		}
	}
	return nil
}

// Run serves until it is told to stop. To be stopped is how it is meant to end,
// so a signal exits with 0.
func (c *simPlainCmd) Run(ctx context.Context, env Env) error {
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	s := sim.New(sim.Options{
		Latency: c.Latency, Faults: c.Errors, Freeze: c.Freeze, Drop: float64(c.Drop) / 100,
		Rows: c.Rows, MaxConnections: c.MaxConnections, Seed: c.Seed,
	})
	_, _ = fmt.Fprintf(env.Err, "sim: listening on %s; Ctrl-C ends it and prints what it did\n", l.Addr())
	err = s.Serve(ctx, l)
	truth := s.Truth()
	if c.Output == "json" {
		return errors.Join(err, printJSON(env.Out, truth))
	}
	_, unwritten := io.WriteString(env.Out, simText(truth))
	return errors.Join(err, unwritten)
}
