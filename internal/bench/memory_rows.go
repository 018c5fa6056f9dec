package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// memoryRows measures what an idle connection costs the recorder.
func (b *bench) memoryRows(ctx context.Context) error {
	const n = 1000
	c, err := b.retrace.Capture(ctx, b.server.URL("", ""), filepath.Join(b.dir, "idle.trace"), "--force")
	if err != nil {
		return err
	}
	defer c.Kill()
	var open []*pgconn.PgConn
	defer func() {
		for _, conn := range open {
			_ = conn.Close(ctx)
		}
	}()
	var before int64
	for i := range n {
		if i == n/10 { // the first ones pay for what all share
			before = dbtest.RSS(c.Pid)
		}
		conn, err := pgconn.Connect(ctx, c.URL("postgres"))
		if err != nil {
			return err
		}
		open = append(open, conn)
	}
	time.Sleep(3 * time.Second)
	each := float64(dbtest.RSS(c.Pid)-before) / (n - n/10) / 1024
	t := newTable("C4 idle connections", "KiB each", "budget")
	t.named(fmt.Sprint(n), fmt.Sprintf("%.1f", each), verdict(each, 25, true))
	t.print()
	return nil
}

// soak records 32 busy clients for long and watches the recorder's memory.
func (b *bench) soak(ctx context.Context) error {
	c, err := b.retrace.Capture(ctx, b.server.URL("", ""), filepath.Join(b.dir, "soak.trace"))
	if err != nil {
		return err
	}
	defer c.Kill()
	ended := make(chan error, 1)
	go func() {
		_, err := dbtest.RunPgbench(ctx, c.Addr, load{"prepared", 32, "select-only"}.args(b.each)...)
		ended <- err
	}()
	t := newTable("C4 memory over time", "RSS MiB", "peak MiB", "CPU s")
	begun := time.Now()
	for tick := time.NewTicker(b.each / 10); ; {
		select {
		case err := <-ended:
			t.print()
			fmt.Println(c.Stop())
			return err
		case <-tick.C:
			t.named(time.Since(begun).Round(time.Second).String(),
				fmt.Sprintf("%.1f", float64(dbtest.RSS(c.Pid))/(1<<20)), fmt.Sprintf("%.1f", float64(dbtest.PeakRSS(c.Pid))/(1<<20)),
				fmt.Sprintf("%.1f", dbtest.CPU(c.Pid).Seconds()))
		}
	}
}
