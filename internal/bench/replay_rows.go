package main

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

// replayRows compares flat-out replay with pgbench doing the same.
func (b *bench) replayRows(ctx context.Context) error {
	t := newTable("R1 R2 flat-out replay", "pgbench/s", "retrace/s", "retrace/pgbench", "budget", "CPU µs each")
	for _, l := range []load{
		{"prepared", 8, "select-only"},
		{"prepared", 32, "select-only"},
		{"simple", 8, "select-only"},
		{"simple", 32, "select-only"},
	} {
		path, err := b.sample(ctx, l)
		if err != nil {
			return err
		}
		var ours, theirs, cpu series
		for range b.rounds {
			done, err := dbtest.RunPgbench(ctx, b.server.Addr, l.args(b.each)...)
			if err != nil {
				return err
			}
			report, r, err := b.replay(ctx, path, "--pace", "closed")
			if err != nil {
				return fmt.Errorf("%s: %w", l, err)
			}
			theirs = append(theirs, done.TPS)
			ours = append(ours, float64(report.Statements.OK)/report.ElapsedS)
			cpu = append(cpu, float64(r.CPU.Microseconds())/float64(report.Statements.OK))
		}
		ratio := ours.over(theirs)
		t.row(l, f0(theirs), f0(ours), ratio.spread(), verdict(ratio.median(), 1, false), f1(cpu))
		progress("replay: %s", l)
	}
	t.print()
	return nil
}

func (b *bench) replay(ctx context.Context, path string, args ...string) (program.Replayed, program.Result, error) {
	var report program.Replayed
	all := append([]string{
		"replay", path, "--target", b.server.URL("", ""), "--allow-captured-target",
		"-w", filepath.Join(b.dir, "run.trace"), "--force", "-o", "json",
	}, args...)
	r := b.retrace.Run(ctx, all...)
	if r.Code != 0 {
		return report, r, fmt.Errorf("retrace replay: %s", r)
	}
	return report, r, r.JSON(&report)
}

// paceRows measures how late requests go out when their session is free, at their
// recorded times and at a rate.
func (b *bench) paceRows(ctx context.Context) error {
	t := newTable("R3 schedule error, 32 sessions", "p50 µs", "budget", "p99 µs", "budget", "nanosleep p99", "retrace/nanosleep", "cores", "budget")
	for _, rate := range []int{1000, 5000, 10000} {
		path := filepath.Join(b.dir, "paced.trace")
		if err := b.paced(ctx, path, rate); err != nil {
			return err
		}
		for _, pace := range []string{"original", fmt.Sprintf("rate=%d/s", rate)} {
			if err := b.paceRow(ctx, t, path, rate, pace); err != nil {
				return err
			}
		}
	}
	t.print()
	return nil
}

// paced records 32 sessions at a rate, without the burst in which they all log in.
func (b *bench) paced(ctx context.Context, path string, rate int) error {
	c, err := b.retrace.Capture(ctx, b.server.URL("", ""), path, "--force", "--paused")
	if err != nil {
		return err
	}
	defer c.Stop()
	const burst = 2 * time.Second
	on := time.AfterFunc(burst, func() { _ = syscall.Kill(c.Pid, syscall.SIGUSR1) })
	defer on.Stop()
	l := load{"prepared", 32, "select-only"}
	_, err = dbtest.RunPgbench(ctx, c.Addr, append(l.args(b.each+burst), "-R", fmt.Sprint(rate))...)
	return err
}

func (b *bench) paceRow(ctx context.Context, t figuresTable, path string, rate int, pace string) error {
	var p50, p99, sleep, cores series
	for range b.rounds {
		rival := startSleeper()
		report, r, err := b.replay(ctx, path, "--pace", pace)
		sleep = append(sleep, rival.stop())
		if err != nil {
			return err
		}
		if report.ScheduleError == nil {
			return fmt.Errorf("replay reports no schedule error")
		}
		p50, p99 = append(p50, report.ScheduleError.P50), append(p99, report.ScheduleError.P99)
		cores = append(cores, r.CPU.Seconds()/report.ElapsedS)
	}
	t.named(fmt.Sprintf("%d/s, pace %s", rate, pace), p50.spread(), verdict(p50.median(), 40, true), p99.spread(), verdict(p99.median(), 250, true),
		f0(sleep), p99.over(sleep).spread(), cores.spread(), verdict(cores.median(), 0.25, true))
	return nil
}
