package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
	"github.com/retrace-db/retrace/trace"
)

// readRows measures how fast a recorded trace is read on one core: the columns,
// the events with their replies, and by the verbs.
func (b *bench) readRows(ctx context.Context) error {
	long := *b // what starting costs must not count
	long.each = max(b.each, 20*time.Second)
	path, err := long.sample(ctx, load{"prepared", 8, "select-only"})
	if err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	t := newTable("T3 A1 statements/s on one core", "M/s", "budget")
	for _, way := range []struct {
		name   string
		budget float64
		read   func(string) (int, error)
	}{
		{"all columns", 2, func(p string) (int, error) { return blocks(p, false) }},
		{"timing columns", 10, func(p string) (int, error) { return blocks(p, true) }},
		{"events joined with replies", 0.5, events},
	} {
		s, err := b.speed(path, way.read)
		if err != nil {
			return err
		}
		t.named(way.name, s.spread(), verdict(s.median(), way.budget, false))
	}
	for _, verb := range [][]string{{"trace", "verify"}, {"trace", "info"}, {"analyze"}} {
		s, err := b.verbSpeed(ctx, path, verb)
		if err != nil {
			return err
		}
		budget := 0.5
		if verb[0] == "analyze" {
			budget = 1
		}
		t.named(fmt.Sprintf("retrace %v", verb), s.spread(), verdict(s.median(), budget, false))
	}
	t.print()
	return nil
}

// sample records one load and keeps the trace.
func (b *bench) sample(ctx context.Context, l load) (string, error) {
	path := filepath.Join(b.dir, fmt.Sprintf("%s-%s-%d.trace", l.script, l.mode, l.clients))
	c, err := b.retrace.Capture(ctx, b.server.URL("", ""), path, "--force")
	if err != nil {
		return "", err
	}
	defer c.Kill()
	if _, err := dbtest.RunPgbench(ctx, c.Addr, l.args(b.each)...); err != nil {
		return "", err
	}
	if r := c.Stop(); r.Code != 0 {
		return "", fmt.Errorf("recording %s: %s", l, r)
	}
	return path, nil
}

// speed reads for about a second a round, in millions of statements per second.
func (b *bench) speed(path string, read func(string) (int, error)) (series, error) {
	var s series
	for range b.rounds {
		begun, n := time.Now(), 0
		for time.Since(begun) < time.Second {
			got, err := read(path)
			if err != nil {
				return nil, err
			}
			n += got
		}
		s = append(s, float64(n)/time.Since(begun).Seconds()/1e6)
	}
	return s, nil
}

func blocks(path string, timing bool) (int, error) {
	r, err := trace.Open(path)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	r.Options(trace.ReadOptions{NoValues: timing})
	var b trace.Batch
	n := 0
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n += len(b.Events)
	}
}

func events(path string) (int, error) {
	r, err := trace.Open(path)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n := 0
	err = r.Each(func(e *trace.Event) error {
		if e.Entry.Op.Statement() {
			n++
		}
		return nil
	})
	return n, err
}

// verbSpeed divides by the processor time of the command, all threads.
func (b *bench) verbSpeed(ctx context.Context, path string, verb []string) (series, error) {
	n, err := events(path)
	if err != nil {
		return nil, err
	}
	var s series
	for range b.rounds {
		r := b.retrace.Run(ctx, append(verb, path)...)
		if r.Code != 0 {
			return nil, fmt.Errorf("retrace %v: %s", verb, r)
		}
		s = append(s, float64(n)/r.CPU.Seconds()/1e6)
	}
	return s, nil
}
