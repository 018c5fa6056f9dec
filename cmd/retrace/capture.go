package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/retrace-db/retrace/capture"
	"github.com/retrace-db/retrace/internal/clock"
	"github.com/retrace-db/retrace/internal/target"
	"github.com/retrace-db/retrace/trace"
)

type captureCmd struct {
	Listen         string        `default:"127.0.0.1:6432" placeholder:"HOST:PORT" help:"Where applications connect to (${default})."`
	Target         string        `required:"" placeholder:"URL" help:"The database, as postgres://HOST:PORT. Users and passwords are those of the applications. sslmode, sslrootcert, sslcert, sslkey and sslnegotiation mean what they mean to libpq; without sslmode, a server on another machine needs TLS and a certificate that can be verified, and one on this machine is spoken to in the clear."`
	TLSCert        string        `name:"tls-cert" placeholder:"FILE" help:"Offer TLS to applications, with this certificate and its chain (PEM); --tls-key goes with it. Without, TLS is declined."`
	TLSKey         string        `name:"tls-key" placeholder:"FILE" help:"The private key of --tls-cert (PEM)."`
	Write          string        `short:"w" required:"" placeholder:"FILE" help:"The trace to write; - is stdout."`
	Force          bool          `help:"Overwrite FILE."`
	Rotate         rotateFlag    `placeholder:"SIZE,TIME" help:"Write numbered files into the new directory that -w names, the next one after this size or time, or whichever comes first: 1GiB, 1h, or 1GiB,1h (never). Each file can be read and replayed by itself, all together are one trace."`
	Duration       time.Duration `placeholder:"D" help:"End by itself after this time, such as 10m, paused or not."`
	Check          bool          `help:"Record checksums of results, so that replay --check finds data that differ: up to 9 bytes per statement, and a hash of every result."`
	Paused         bool          `help:"Pass traffic on without recording until told to start: by SIGUSR1 or --control."`
	Sample         percentage    `default:"100%" placeholder:"P%" help:"Record this share of the sessions, each whole or not at all (${default})."`
	Only           whereFlag     `placeholder:"EXPR" help:"Record only what matches, such as 'db:shop -op:select' (see trace cat --where): db, user and app choose whole sessions by how they log in; op, table and text choose statements, beside which transaction control, settings and prepares stay."`
	RestorePoint   restoreFlag   `placeholder:"NAME" help:"Note in the trace where the server is in its write-ahead log when recording starts, to bring a copy to that place for a replay; --restore-point=NAME also creates a restore point. On a connection of its own, with the URL's user."`
	Control        string        `placeholder:"ADDR" help:"Take orders by HTTP on this loopback address or unix:PATH: POST /start, POST /stop, GET /status."`
	Metrics        string        `placeholder:"HOST:PORT" help:"Show counters at http://HOST:PORT/metrics, for Prometheus."`
	MaxConnections int           `placeholder:"N" help:"Refuse connections over this many (what the limit of open files allows)."`
	Output         string        `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"Summary as text (on stderr) or json (on stdout)."`
	Quiet          bool          `short:"q" help:"Say nothing but what went wrong."`
}

func (*captureCmd) Help() string {
	return `Applications connect to --listen as they would to the database; each connection
is passed on to --target byte for byte, and what it asked and how long the answer
took is recorded. SIGINT or SIGTERM ends the recording: no new connections are
taken, and those that are open are let go between two transactions.

SIGUSR2 stops recording and SIGUSR1 starts it (again) while traffic goes on, as do
POST /stop and POST /start to --control. A session is recorded from where it is
next outside of a transaction, and until it is so again. What was passed on in
between counts as left out, not as lost.`
}

func (*captureCmd) Examples() string {
	return `retrace capture --target postgres://db.example:5432 -w monday.trace
retrace capture --listen 127.0.0.1:7000 --target postgres://localhost -w - --duration 1m | retrace trace info -
retrace capture --target postgres://db.example:5432 -w peak.trace --paused --control 127.0.0.1:6433
curl -X POST http://127.0.0.1:6433/start
retrace capture --target postgres://db.example:5432 -w day.trace --sample 10% --metrics 127.0.0.1:9187
retrace capture --target postgres://db.example:5432 -w week --rotate 1GiB,1h
retrace capture --target 'postgres://db.example:5432?sslmode=verify-full&sslrootcert=ca.crt' --tls-cert server.crt --tls-key server.key -w day.trace
retrace capture --target postgres://admin@db.example:5432/shop -w day.trace --restore-point=monday`
}

// Validate finds what is wrong before anything is opened.
func (c *captureCmd) Validate() error {
	const try = "retrace capture --listen 127.0.0.1:6432 --target postgres://127.0.0.1:5432 -w new.trace"
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return usageError(try+" --tls-cert server.crt --tls-key server.key", "--tls-cert and --tls-key go together")
	case c.Duration < 0:
		return usageError(try+" --duration 10m", "--duration %s is negative", c.Duration)
	case c.MaxConnections < 0:
		return usageError(try, "--max-connections %d is negative", c.MaxConnections)
	case c.Sample == 0:
		return usageError(try+" --sample 10%", "--sample 0%% would record nothing")
	case c.Only.NeedsReply():
		return usageError(try+" --only 'db:shop -op:select'", "--only %s asks for what only the reply tells; what is recorded is decided before it comes: filter afterwards, with analyze --where", c.Only)
	case c.Only.NeedsOrdinal():
		return usageError(try+" --only 'db:shop -op:select'", "--only %s asks for ordinals, which name events of a recording: filter afterwards, with trace cat --where", c.Only)
	case c.Rotate.set() && c.Write == "-":
		return usageError(try+" --rotate 1GiB", "--rotate needs a directory: -w - is stdout")
	case c.Rotate.set() && c.Force:
		return usageError("retrace capture --target postgres://127.0.0.1:5432 -w new-directory --rotate 1GiB", "--force replaces one file, and --rotate writes many: name a new directory")
	case c.Write == "-" && c.Output == "json":
		return usageError(try+" -o json", "-w - and -o json both want stdout")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return usageError(try, "--listen %q is not HOST:PORT", c.Listen)
	}
	if c.Control != "" {
		if err := checkControl(c.Control); err != nil {
			return usageError(try+" --control 127.0.0.1:6433", "--control %s: %w", c.Control, err)
		}
	}
	if c.Metrics != "" {
		if _, _, err := net.SplitHostPort(c.Metrics); err != nil {
			return usageError(try+" --metrics 127.0.0.1:9187", "--metrics %q is not HOST:PORT", c.Metrics)
		}
	}
	return nil
}

// Run records until it is told to stop. To be stopped is how it is meant to
// end, so a signal exits with 0.
func (c *captureCmd) Run(ctx context.Context, env Env) error {
	to, err := c.target(ctx, env)
	if err != nil {
		return err
	}
	offered, err := c.serverTLS()
	if err != nil {
		return err
	}
	listener, err := capture.Listen(c.Listen)
	if err != nil {
		return err
	}
	r := &recording{captureCmd: c, env: env, target: to, tls: offered, clock: clock.NewTimers(), talk: &talk{to: env.Err, quiet: c.Quiet}}
	if err := errors.Join(r.openControl(), r.openMetrics()); err != nil {
		return errors.Join(err, listener.Close(), r.closeSides())
	}
	if err := r.checkRestore(ctx); err != nil {
		return errors.Join(err, listener.Close(), r.closeSides())
	}
	out, err := c.create(env)
	if err != nil {
		return errors.Join(err, listener.Close(), r.closeSides())
	}
	if err := r.firstRestore(ctx); err != nil {
		return errors.Join(err, listener.Close(), r.closeSides(), out.done(false))
	}
	return r.run(ctx, listener, out)
}

// source is the target, and where it is.
type source struct {
	*target.Target
	addresses []string
}

// String leaves out the user, who is of no importance here: each application
// logs in as its own.
func (s source) String() string {
	scheme, rest, _ := strings.Cut(s.Target.String(), "://")
	host, database, named := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if named {
		host += "/" + database
	}
	return scheme + "://" + host
}

func (c *captureCmd) target(ctx context.Context, env Env) (source, error) {
	t, err := target.ParseProxied(c.Target, env.Getenv)
	if err != nil {
		return source{}, usageError("retrace capture --target postgres://127.0.0.1:5432 -w new.trace", "%w", err)
	}
	s := source{Target: t}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s.addresses, err = t.Addresses(ctx)
	return s, err
}

// serverTLS is what applications are offered, or nil.
func (c *captureCmd) serverTLS() (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", c.TLSCert, c.TLSKey, err)
	}
	return capture.ServerTLS(certificate), nil
}

func (c *captureCmd) create(env Env) (traceOut, error) {
	if c.Rotate.set() {
		files, err := trace.CreateRotation(c.Write)
		return traceOut{files, files}, err
	}
	if c.Write != "-" {
		file, err := trace.Create(c.Write, c.Force)
		return traceOut{file, file}, err
	}
	if env.OutTTY {
		return traceOut{}, usageError("retrace capture --target URL -w new.trace", "-w - would write a binary trace to the terminal")
	}
	return traceOut{env.Out, nil}, nil
}

// traceOut is where the trace goes.
type traceOut struct {
	io.Writer
	file traceFile // nil for stdout
}

// traceFile is a file that gets its name once it is whole, or several.
type traceFile interface {
	Name() string
	Close() error
	Abandon() error
}

// done gives the file its name if the trace is whole.
func (o traceOut) done(whole bool) error {
	switch {
	case o.file == nil:
		return nil
	case whole:
		return o.file.Close()
	}
	return o.file.Abandon()
}
