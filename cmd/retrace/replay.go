package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/retrace-db/retrace/replay"
	"github.com/retrace-db/retrace/trace"
)

type replayCmd struct {
	Traces              []string      `arg:"" name:"trace" help:"Trace: files, a directory of rotated files, or - for stdin."`
	Target              []string      `required:"" sep:"none" placeholder:"[LABEL=]URL" help:"The server to replay against, as postgres://USER@HOST:PORT; given again, each as LABEL=URL, one after the other. A database in the URL replaces the recorded ones; what the URL leaves out comes from PG* variables, .pgpass and service files."`
	Runs                int           `default:"1" placeholder:"N" help:"Replay N times against each target, the targets taking turns (${default})."`
	Before              string        `placeholder:"COMMAND" help:"Run this shell command before each replay, to bring the data back; its environment has RETRACE_TARGET, RETRACE_LABEL and RETRACE_RUN."`
	Write               string        `short:"w" placeholder:"RUN" help:"Write what was measured, as a trace; - is stdout. A directory (DIR/) gets a file LABEL-N.run for each replay."`
	Label               string        `placeholder:"NAME" help:"What reports call the run."`
	Pace                paceFlag      `placeholder:"original|think|closed|rate=N/s" help:"When a request is due: at its recorded time, its client's recorded pause after the reply before it, when its session is free, or N a second (also N/min) in recorded order. Follows the trace if not given."`
	Speed               *float64      `placeholder:"N" help:"With paces original and think: N times as fast as recorded."`
	MaxGap              gapFlag       `placeholder:"D" help:"Cut recorded silence to D, such as 5s: with pace original where nothing runs in any session, with think each session's pauses."`
	Only                whereFlag     `placeholder:"EXPR" help:"Send only the statements that match, such as 'op:select db:shop' (see trace cat --where); transaction control, settings and prepares stay."`
	Skip                whereFlag     `placeholder:"EXPR" help:"Leave out the statements that match."`
	ReadOnly            bool          `help:"Leave out what may change data, and have the server refuse what functions hide."`
	UserMap             userMap       `mapsep:"none" placeholder:"RECORDED=USER" help:"Log in as USER for sessions of the RECORDED user; may be given again. Passwords come from PGPASSWORD or .pgpass. All others log in as the URL's user."`
	AllowDangerous      bool          `help:"Send even statements that could harm more than the data: DROP DATABASE, ALTER SYSTEM, pg_terminate_backend, COPY PROGRAM and their like, which are left out otherwise."`
	From                moment        `placeholder:"WHEN" help:"Replay from here on: since the start of the trace, such as 10m, or a time such as 2026-05-04T14:00:00Z. Sessions open then connect first, with what they had prepared and set (the start)."`
	To                  moment        `placeholder:"WHEN" help:"Replay what starts before this, as --from (the end)."`
	Loop                int           `default:"1" placeholder:"N" help:"Replay the trace N times in a row, as one run (${default}); its sessions are new ones in each."`
	Retry               int           `placeholder:"N" help:"Send a transaction again, up to N times, after a serialization failure or a deadlock that was not recorded."`
	Order               string        `enum:"session,commit" default:"session" placeholder:"session|commit" help:"Order between sessions: none but the pace's, or each transaction starts after those that had committed before it started (${default})."`
	OrderWait           time.Duration `placeholder:"D" help:"With order commit: a transaction waits no longer than this for others, which is then counted (5s)."`
	Duration            time.Duration `placeholder:"D" help:"Stop sending after this time, such as 10m; the rest is counted as unsent."`
	Check               bool          `help:"Compare results too, by the checksums that capture --check records, and write those of the replay into RUN."`
	MaxDiverged         percentage    `default:"1%" placeholder:"P%" help:"Exit with 3 if more statements than this differ from the recording (${default})."`
	DryRun              bool          `help:"Send nothing: say what would be sent, what would not, and what the target lacks."`
	AllowCapturedTarget bool          `help:"Replay even against the server that was recorded."`
	Output              string        `short:"o" enum:"text,json" default:"text" placeholder:"text|json" help:"Form of the summary on stdout (${default})."`
	Quiet               bool          `short:"q" help:"No progress on stderr."`
	Force               bool          `help:"Overwrite RUN."`
}

// replayFault makes the player forget an event; only tests set it.
var replayFault func(session, ordinal uint64) bool

const replayTry = "retrace replay monday.trace --target postgres://postgres@127.0.0.1:5433 -w candidate.run"

func (*replayCmd) Help() string {
	return `One recorded session becomes one connection for its whole life, and each request goes
out as the bytes that were recorded. A request waits for the replies that its client
had waited for, and for nothing else. Bring the target's data to the state at the
recording's start first: replay changes them as the recorded applications did.

Every event ends as ok, error, skipped, filtered, lost or unsent, and the sums are checked.
Skipped is what the server would only refuse, since something failed that had not
failed when it was recorded, or what cannot be sent again.`
}

func (*replayCmd) Examples() string {
	return `retrace replay monday.trace --target postgres://postgres@candidate:5432 -w candidate.run
retrace replay monday.trace --target postgres://postgres@candidate --speed 2 --duration 10m
retrace replay monday.trace --target postgres://postgres@candidate --pace closed -o json
retrace replay monday.trace --target postgres://postgres@candidate --pace rate=500/s
retrace replay monday.trace --target postgres://postgres@candidate --speed 10 --order commit --retry 3
retrace replay monday.trace --target postgres://postgres@candidate --pace think --max-gap 5s
retrace replay monday.trace --target postgres://postgres@candidate --dry-run
retrace replay monday.trace --target postgres://postgres@candidate --read-only --skip 'app:nightly table:audit'
retrace replay monday.trace --target postgres://postgres@candidate --loop 3 --duration 1h
retrace replay monday.trace --target postgres://postgres@candidate --from 10m --to 12m
retrace replay monday.trace --target postgres://postgres@candidate --user-map app=app_test --user-map etl=etl_test
retrace replay monday.trace --target old=postgres://postgres@db15 --target new=postgres://postgres@db18 \
    --runs 5 --before ./restore.sh -w runs/`
}

// percentage is a share such as 1% or 0.5.
type percentage float64

// UnmarshalText reads 1, 1% or 0.5%.
func (p *percentage) UnmarshalText(b []byte) error {
	text := strings.TrimSpace(strings.TrimSuffix(string(b), "%"))
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 100 {
		return fmt.Errorf("%q is not a percentage such as 1%%", b)
	}
	*p = percentage(v)
	return nil
}

// userMap says who logs in for recorded users.
type userMap map[string]string

func (c *replayCmd) emptyUser() bool {
	for recorded, user := range c.UserMap {
		if recorded == "" || user == "" {
			return true
		}
	}
	return false
}

// Validate finds what is wrong before anything is opened.
func (c *replayCmd) Validate() error {
	switch {
	case c.OrderWait < 0:
		return usageError(replayTry+" --order commit --order-wait 5s", "--order-wait %s is negative", c.OrderWait)
	case c.OrderWait != 0 && c.Order != replay.OrderCommit:
		return usageError(replayTry+" --order commit --order-wait 5s", "--order-wait has no meaning without --order commit")
	case c.Retry < 0:
		return usageError(replayTry+" --retry 3", "--retry %d is negative", c.Retry)
	case c.emptyUser():
		return usageError(replayTry+" --user-map app=app_test", "--user-map wants two names, as RECORDED=USER")
	case c.Duration < 0:
		return usageError(replayTry+" --duration 10m", "--duration %s is negative", c.Duration)
	case c.Write == "-" && c.Output == "json":
		return usageError(replayTry+" -o json", "-w - and -o json both want stdout")
	}
	if err := errors.Join(c.validatePace(), c.validateWindow()); err != nil {
		return err
	}
	return c.validateSeries()
}

// Run replays.
func (c *replayCmd) Run(ctx context.Context, env Env) error {
	series, err := c.series(env)
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.dryRun(ctx, env, series)
	}
	// Whoever interrupts twice does not want to wait.
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	if len(series) > 1 {
		return c.runSeries(ctx, env, series)
	}
	if err := c.before(ctx, env, series[0]); err != nil {
		return err
	}
	s, damage, err := c.one(ctx, env, series[0])
	if s != nil {
		err = errors.Join(c.report(env, s, series[0].file), err)
	}
	return errors.Join(err, damaged(damage), interrupted(ctx))
}

// one replays the trace once. Without a summary nothing was replayed.
func (c *replayCmd) one(ctx context.Context, env Env, t turn) (*replay.Summary, []trace.Damage, error) {
	in, err := c.open(ctx, env, trace.ReadOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = in.Close() }() // was only read
	out, err := c.create(env, t.file)
	if err != nil {
		return nil, nil, err
	}
	s, err := c.replay(ctx, env, in.Reader, t, out)
	err = asReplayUsage(err)
	if s == nil {
		return nil, nil, errors.Join(err, out.discard())
	}
	err = errors.Join(err, out.close(err == nil))
	return s, in.Damage(), errors.Join(err, c.nothing(s.Events.Captured), c.verdict(s))
}

// asReplayUsage gives the package's usage errors their exit code.
func asReplayUsage(err error) error {
	var usage *replay.UsageError
	if errors.As(err, &usage) {
		return usageError(strings.TrimSpace(replayTry+" "+usage.Try), "%s", usage.Message)
	}
	return err
}

// options are what the flags say of a replay.
func (c *replayCmd) options(t turn) replay.Options {
	o := replay.Options{
		Target: t.target, Duration: c.Duration, Tool: "retrace " + toolVersion(), Label: t.label, Number: t.number,
		Only: c.Only.Filter, Skip: c.Skip.Filter, ReadOnly: c.ReadOnly, AllowDangerous: c.AllowDangerous, UserMap: c.UserMap,
		Retry: c.Retry, Order: c.Order, OrderWait: c.OrderWait, Check: c.Check, AllowCapturedTarget: c.AllowCapturedTarget, Fault: replayFault,
	}
	c.pace(&o)
	return o
}

func (c *replayCmd) replay(ctx context.Context, env Env, in *trace.Reader, t turn, out *runFile) (*replay.Summary, error) {
	o := c.options(t)
	if out.Writer != nil {
		o.Run = out.Writer
	}
	c.look(&o)
	watched := &replayWatch{known: o.Known, duration: c.Duration, speed: o.Speed, loops: int64(c.Loop)}
	if c.windowed() {
		watched.known = nil // it is of the whole trace
	}
	shown := env.watch(t.verb(), c.Quiet, watched.step)
	defer shown.Stop()
	o.Started = func(live *replay.Progress) {
		watched.rate.at = time.Now()
		watched.live.Store(live) // from here on step reads both
	}
	o.Warn = func(text string) { _, _ = fmt.Fprintf(shown, "replay: %s\n", escape(text)) }
	return replay.Run(ctx, in, o)
}

// look finds out beforehand what a trace in files holds.
func (c *replayCmd) look(o *replay.Options) {
	if !c.rereadable() {
		return
	}
	known, err := trace.Info(c.Traces...)
	if err != nil {
		return // replaying says what is wrong
	}
	o.Known = known
	o.Again = func(o trace.ReadOptions) (*trace.Reader, error) {
		again, err := c.open(context.Background(), Env{}, o) // files only
		if err != nil {
			return nil, err
		}
		return again.Reader, nil
	}
}

// replayWatch turns live counters into progress.
type replayWatch struct {
	live     atomic.Pointer[replay.Progress]
	known    *trace.Summary
	duration time.Duration
	speed    float64
	loops    int64
	rate     rate
}

func (w *replayWatch) step() step {
	live := w.live.Load()
	if live == nil {
		return step{Words: "looking at trace and target"}
	}
	now := live.Now()
	s := step{Done: int64(now.Statements)}
	if w.known != nil {
		s.Total = int64(w.known.Statements) * w.loops
	}
	if now.Offset > 0 && w.known != nil {
		s.Done, s.Total = int64(now.Offset), max(w.known.Last-w.known.First, 1)*w.loops
	}
	s.Words = fmt.Sprintf("%d statements, %.0f/s, %d sessions", now.Statements, w.rate.of(now.Statements, time.Now()), now.Sessions)
	if now.Errors > 0 {
		s.Words += fmt.Sprintf(", %d errors", now.Errors)
	}
	if now.Diverged > 0 {
		s.Words += fmt.Sprintf(", %d diverged", now.Diverged)
	}
	if now.Lag > 10*time.Millisecond {
		s.Words += fmt.Sprintf(", lagging up to %s", now.Lag.Round(time.Millisecond))
	}
	if now.Phase != "running" {
		s.Words += ", " + now.Phase + ": nothing more is sent"
	}
	return s
}

// verdict is the error of a replay that did not go as it should.
func (c *replayCmd) verdict(s *replay.Summary) error {
	differs := func(format string, args ...any) error {
		return exitError{Code: exitDiffers, Err: fmt.Errorf(format, args...)}
	}
	var all []error
	switch {
	case s.SessionsFailed > 0 && s.Statements.OK+s.Statements.Error == 0 && s.Statements.Captured > 0:
		all = append(all, errors.New("no session got a connection to "+s.Target))
	case s.SessionsFailed > 0 || s.SessionsLost > 0:
		all = append(all, differs("%d of %d sessions got no connection and %d lost theirs", s.SessionsFailed, s.Sessions, s.SessionsLost))
	}
	if !s.Accounted {
		all = append(all, differs("the accounting is broken: %d events were read, %d have an outcome", s.Events.Captured, s.Events.Sum()))
	}
	if s.DivergedPct > float64(c.MaxDiverged) {
		all = append(all, differs("%.2f %% of statements differ from the recording, allowed are %g %% (--max-diverged)", s.DivergedPct, float64(c.MaxDiverged)))
	}
	return errors.Join(all...)
}

// runFile is where the run goes, if anywhere.
type runFile struct {
	io.Writer
	file *trace.File
}

func (c *replayCmd) create(env Env, path string) (*runFile, error) {
	switch {
	case path == "":
		return &runFile{}, nil
	case path != "-":
		file, err := trace.Create(path, c.Force)
		if err != nil {
			return nil, err
		}
		return &runFile{file, file}, nil
	case env.OutTTY:
		return nil, usageError(replayTry, "-w - would write a binary trace to the terminal")
	}
	return &runFile{Writer: env.Out}, nil
}

// close gives the file its name if the run is whole.
func (f *runFile) close(whole bool) error {
	switch {
	case f.file == nil:
		return nil
	case whole:
		return f.file.Close()
	}
	return f.file.Abandon()
}

// discard removes a file into which nothing was written.
func (f *runFile) discard() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Abandon()
	if part := f.file.Name() + ".part"; err == nil {
		if err = os.Remove(part); errors.Is(err, os.ErrNotExist) {
			return nil // a device is written in place
		}
	}
	return err
}
