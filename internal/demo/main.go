// Command demo shows the whole path on real servers: it records pgbench,
// replays what was recorded on a copy of the server, once as it is and once
// without an index, and compares the two. All servers are temporary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/internal/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d := &demo{}
	path := flag.String("retrace", "bin/retrace", "the program to show")
	flag.StringVar(&d.dir, "dir", "tmp/demo", "where the traces go")
	flag.IntVar(&d.seconds, "seconds", 10, "how long to record")
	flag.IntVar(&d.rate, "rate", 30, "transactions per second to record")
	flag.Parse()
	d.retrace = &program.Program{Path: *path, Echo: command, Talk: os.Stderr}

	err := d.run(ctx)
	d.close()
	switch {
	case ctx.Err() != nil:
		say("\nStopped. The servers are down and their files are gone.")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	d.farewell()
}

type demo struct {
	retrace       *program.Program
	dir           string
	seconds, rate int

	original, copied *dbtest.Server
	running          []func() error // what close ends, last first
}

func (d *demo) close() {
	for i := len(d.running) - 1; i >= 0; i-- {
		if err := d.running[i](); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
		}
	}
}

func (d *demo) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{d.folder, d.servers, d.record, d.replaySame, d.replayWorse, d.compare} {
		if err := errors.Join(step(ctx), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) folder(context.Context) error {
	for _, name := range []string{"recorded", "same", "no-index"} {
		for _, suffix := range []string{"", ".part"} {
			if err := os.Remove(d.file(name) + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return os.MkdirAll(d.dir, 0o755)
}

func (d *demo) file(name string) string { return filepath.Join(d.dir, name+".trace") }

// servers starts two PostgreSQL servers with the same rows.
func (d *demo) servers(ctx context.Context) error {
	var err error
	if d.original, err = dbtest.Start(ctx, "", dbtest.Options{}); err != nil {
		return err
	}
	d.running = append(d.running, d.original.Close)
	if _, err := dbtest.RunPgbench(ctx, d.original.Addr, "-i", "-q"); err != nil {
		return err
	}
	if d.copied, err = d.original.Copy(ctx, ""); err != nil {
		return err
	}
	d.running = append(d.running, d.copied.Close)
	title("Two PostgreSQL %d servers, in temporary folders", d.original.Major)
	say("The original listens on %s and holds pgbench's tables, 100,000 accounts.", d.original.Addr)
	say("The candidate listens on %s and is a copy of it.", d.copied.Addr)
	return nil
}

// record puts the recorder between pgbench and the original.
func (d *demo) record(ctx context.Context) error {
	title("Recording: pgbench talks to retrace, retrace to the original")
	c, err := d.retrace.Capture(ctx, d.original.URL("", ""), d.file("recorded"), "-o", "text")
	if err != nil {
		return err
	}
	defer c.Kill()
	for range 100 { // let it greet before pgbench has the word
		if strings.Contains(c.Said(), "Ctrl-C") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	args := []string{"-M", "prepared", "-c", "4", "-R", fmt.Sprint(d.rate), "-T", fmt.Sprint(d.seconds)}
	command("pgbench " + strings.Join(args, " ") + " -h 127.0.0.1 -p " + c.Addr[len("127.0.0.1:"):] + " -U postgres postgres")
	b, err := dbtest.RunPgbench(ctx, c.Addr, args...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	say("pgbench: %d transactions, %d failed, %.2f ms each on average.", b.Transactions, b.Failed, b.LatencyMS)
	if r := c.Stop(); r.Code != 0 {
		return fmt.Errorf("retrace capture ended with exit code %d: %s", r.Code, r.Err)
	}
	return d.retrace.Show(ctx, os.Stdout, "trace", "info", d.file("recorded"))
}

func (d *demo) replaySame(ctx context.Context) error {
	title("Replaying on the candidate, at the recorded times (%d s)", d.seconds)
	return d.replay(ctx, "same")
}

func (d *demo) replayWorse(ctx context.Context) error {
	const drop = "alter table pgbench_accounts drop constraint pgbench_accounts_pkey"
	title("Replaying on the candidate without its index on pgbench_accounts")
	command("psql -c '" + drop + "'")
	if _, err := d.copied.SQL(ctx, "", drop); err != nil {
		return err
	}
	return d.replay(ctx, "no-index")
}

func (d *demo) replay(ctx context.Context, name string) error {
	return d.retrace.Show(ctx, os.Stdout, "replay", d.file("recorded"), "--target", d.copied.URL("", ""), "-w", d.file(name))
}

func (d *demo) compare(ctx context.Context) error {
	title("Comparing the two replays: which statements became slower?")
	return d.retrace.Show(ctx, os.Stdout, "analyze", "same="+d.file("same"), "no-index="+d.file("no-index"), "--top", "7")
}

func (d *demo) farewell() {
	title("Done. The servers are down and their files are gone; the traces stay")
	for _, name := range []string{"recorded", "same", "no-index"} {
		say("  %s", d.file(name))
	}
	say("Look closer:")
	say("  %s trace cat %s | head", d.retrace.Path, d.file("recorded"))
	say("  %s analyze recorded=%s same=%s", d.retrace.Path, d.file("recorded"), d.file("same"))
}

func title(format string, a ...any) { fmt.Printf("\n== "+format+"\n", a...) }
func say(format string, a ...any)   { fmt.Printf(format+"\n", a...) }
func command(line string)           { fmt.Println("$ " + line) }
