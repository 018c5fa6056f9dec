package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lockedBuffer lets a test read what another goroutine writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestProgressIsALineEachTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		steps := []step{{Done: 1, Total: 4, Words: "one\nforged line"}, {Done: 9, Total: 4}, {Words: "no end known"}}
		p := Env{Err: &out}.watch("replay", false, func() step {
			s := steps[0]
			steps = steps[1:]
			return s
		})
		time.Sleep(31 * time.Second)
		p.Stop()
		time.Sleep(time.Minute)
		want := "replay: 10s, 25 %, one\\nforged line\nreplay: 20s, 100 %\nreplay: 30s, no end known\n"
		if got := out.String(); got != want {
			t.Errorf("got:\n%swant:\n%s", got, want)
		}
	})
}

func TestQuietSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		p := Env{Err: &out, ErrTTY: true}.watch("replay", true, func() step { return step{} })
		time.Sleep(time.Hour)
		p.Stop()
		if got := out.String(); got != "" {
			t.Errorf("said %q", got)
		}
	})
}

func TestSpinnerWhereTheEndIsNotKnown(t *testing.T) {
	var out lockedBuffer
	p := Env{Err: &out, ErrTTY: true}.watch("analyze", false, func() step { return step{Words: "3 million events"} })
	time.Sleep(3 * drawEvery)
	p.Stop()
	if got := out.String(); !strings.Contains(got, "analyze") || !strings.Contains(got, "3 million events") {
		t.Errorf("drew %q", got)
	}
}

func TestBarOnATerminal(t *testing.T) {
	var out lockedBuffer
	p := Env{Err: &out, ErrTTY: true}.watch("replay", false, func() step {
		return step{Done: 30, Total: 60, Words: "12,000/s"}
	})
	time.Sleep(3 * drawEvery)
	if _, err := p.Write([]byte("a log line\n")); err != nil {
		t.Error(err)
	}
	p.Stop()
	p.Stop()
	if _, err := p.Write([]byte("a later line\n")); err != nil {
		t.Error(err)
	}
	got := out.String()
	for _, want := range []string{"replay", "50 %", "12,000/s", "a log line\n", "a later line\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}
