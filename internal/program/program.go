// Package program runs the built retrace as a person would: by its command
// line. The end-to-end tests, the demo and the bench share it.
package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// Program is a built retrace.
type Program struct {
	Path string

	// Where somebody watches: Echo is told each command line, Talk gets what
	// the program says on stderr, as it is said.
	Echo func(line string)
	Talk io.Writer
}

// Build builds the program of the working tree at root into dir.
func Build(ctx context.Context, root, dir string) (*Program, error) {
	p := &Program{Path: dir + "/retrace"}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", p.Path, "./cmd/retrace")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return p, nil
}

// Result is how a command ended.
type Result struct {
	Code int
	Out  string // stdout
	Err  string // stderr
	Took time.Duration
	CPU  time.Duration // user and system time, all threads
	RSS  int64         // bytes of memory at the most
}

// JSON reads what the command wrote to stdout into v.
func (r Result) JSON(v any) error {
	if err := json.Unmarshal([]byte(r.Out), v); err != nil {
		return fmt.Errorf("exit %d, and no JSON: %w\nstdout: %s\nstderr: %s", r.Code, err, r.Out, r.Err)
	}
	return nil
}

// String is for failure messages.
func (r Result) String() string {
	return fmt.Sprintf("exit %d after %s\nstdout: %s\nstderr: %s", r.Code, r.Took.Round(time.Millisecond), cut(r.Out), cut(r.Err))
}

func cut(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 4000 {
		return s[:2000] + "\n…\n" + s[len(s)-2000:]
	}
	return s
}

// Command prepares a command of the program with a clean environment.
func (p *Program) Command(args ...string) *exec.Cmd {
	if p.Echo != nil {
		p.Echo(p.Path + " " + strings.Join(args, " "))
	}
	cmd := exec.Command(p.Path, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "TZ=UTC", "TMPDIR=" + os.TempDir()}
	return cmd
}

// Run runs a command to its end. A cancelled context interrupts it as Ctrl-C
// does, and kills it when it has not ended 10 s later.
func (p *Program) Run(ctx context.Context, args ...string) Result {
	var out, said bytes.Buffer
	cmd := p.Command(args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	begun := time.Now()
	if err := dbtest.StartBound(cmd, syscall.SIGKILL); err != nil {
		return Result{Code: -1, Err: err.Error()}
	}
	err := waitFor(ctx, cmd)
	r := Result{Code: exitCode(err), Out: out.String(), Err: said.String(), Took: time.Since(begun)}
	if s := cmd.ProcessState; s != nil {
		r.CPU = s.UserTime() + s.SystemTime()
		if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
			r.RSS = usage.Maxrss << 10
		}
	}
	return r
}

// Show runs a command to its end with its output going straight to out, and
// what it says to Talk.
func (p *Program) Show(ctx context.Context, out io.Writer, args ...string) error {
	cmd := p.Command(args...)
	cmd.Stdout, cmd.Stderr = out, p.Talk
	if err := dbtest.StartBound(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	err := waitFor(ctx, cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("retrace %s: %w", args[0], err)
	}
	return nil
}

func waitFor(ctx context.Context, cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
	}
	_ = cmd.Process.Kill()
	return <-done
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode() // -1 when a signal ended it
	}
	return -1
}
