package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// talk prints log records as lines for people. The same message is said once in
// talkEvery, with a count of those left out: a flood of bad connections must not
// become a flood of lines.
type talk struct {
	mu    sync.Mutex
	to    io.Writer
	quiet bool // only what went wrong
	said  map[string]time.Time
	mute  map[string]int
	clock func() time.Time // nil: the wall clock
}

const talkEvery = 10 * time.Second

// redirect makes further lines go elsewhere, such as above a progress line.
func (t *talk) redirect(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.to = w
}

// say prints a line now, whatever was said before.
func (t *talk) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintln(t.to, escape("capture: "+fmt.Sprintf(format, args...)))
}

func (t *talk) Enabled(_ context.Context, l slog.Level) bool { return !t.quiet || l >= slog.LevelWarn }
func (t *talk) WithAttrs([]slog.Attr) slog.Handler           { return t }
func (t *talk) WithGroup(string) slog.Handler                { return t }

func (t *talk) Handle(_ context.Context, r slog.Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.clock != nil {
		now = t.clock()
	}
	if last, ok := t.said[r.Message]; ok && now.Sub(last) < talkEvery {
		t.mute[r.Message]++
		return nil
	}
	if t.said == nil {
		t.said, t.mute = map[string]time.Time{}, map[string]int{}
	}
	t.said[r.Message] = now
	var line strings.Builder
	line.WriteString("capture: " + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" || a.Key == "reason" {
			fmt.Fprintf(&line, ": %v", a.Value)
		} else {
			fmt.Fprintf(&line, ", %s %v", a.Key, a.Value)
		}
		return true
	})
	if n := t.mute[r.Message]; n > 0 {
		fmt.Fprintf(&line, " (and %d more before)", n)
		t.mute[r.Message] = 0
	}
	_, err := fmt.Fprintln(t.to, escape(line.String()))
	return err
}
