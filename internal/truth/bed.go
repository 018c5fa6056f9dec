package truth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
	"github.com/retrace-db/retrace/internal/sim"
)

// Bed is where traces are made and replayed.
type Bed struct {
	Program *program.Program
	Dir     string
}

// Path is a file of the bed.
func (b *Bed) Path(name string) string { return filepath.Join(b.Dir, name) }

// Record records what drive sends to a simulated server, and returns what that
// server did.
func (b *Bed) Record(ctx context.Context, trace string, o sim.Options, drive func(addr string) error) (sim.Truth, error) {
	t, err := Start(o)
	if err != nil {
		return sim.Truth{}, err
	}
	c, err := b.Program.Capture(ctx, t.URL(), trace, "--force")
	if err != nil {
		_, ended := t.Stop()
		return sim.Truth{}, errors.Join(err, ended)
	}
	defer c.Kill()
	err = drive(c.Addr)
	if r := c.Stop(); r.Code != 0 {
		err = errors.Join(err, fmt.Errorf("retrace capture: %s", r))
	}
	did, ended := t.Stop()
	return did, errors.Join(err, ended)
}

// Replay replays a trace against a simulated server, and returns what the
// program says and what the server did. The exit code is the caller's to judge.
func (b *Bed) Replay(ctx context.Context, trace, run string, o sim.Options, args ...string) (program.Result, sim.Truth, error) {
	t, err := Start(o)
	if err != nil {
		return program.Result{}, sim.Truth{}, err
	}
	all := append([]string{"replay", trace, "--target", t.URL(), "-w", run, "--force", "-o", "json"}, args...)
	r := b.Program.Run(ctx, all...)
	did, err := t.Stop()
	return r, did, err
}

// Analyze compares traces.
func (b *Bed) Analyze(ctx context.Context, traces ...string) (program.Analyzed, error) {
	var report program.Analyzed
	r := b.Program.Run(ctx, append([]string{"analyze", "-o", "json"}, traces...)...)
	if r.Code != 0 {
		return report, fmt.Errorf("retrace analyze: %s", r)
	}
	return report, r.JSON(&report)
}

// Pgbench drives a server with a workload's statements, evenly spread over
// some clients, at so many rounds of all of them a second.
func (b *Bed) Pgbench(ctx context.Context, w Workload, rate int, d time.Duration) func(string) error {
	return func(addr string) error {
		script := b.Path("workload.sql")
		if err := os.WriteFile(script, []byte(w.script()), 0o600); err != nil {
			return err
		}
		done, err := dbtest.RunPgbench(ctx, addr, "-n", "-M", "prepared", "-f", script, "-c", "8", "-j", "2",
			"-R", fmt.Sprint(rate), "-T", fmt.Sprint(int(d.Seconds())))
		if err == nil && done.Failed > 0 {
			err = fmt.Errorf("pgbench failed %d transactions", done.Failed)
		}
		return err
	}
}
