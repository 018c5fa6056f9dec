package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// Capture is a running `retrace capture`.
type Capture struct {
	Addr  string
	Trace string
	Pid   int

	cmd  *exec.Cmd
	out  bytes.Buffer
	said lockedBuffer
	done chan struct{}
	err  error
}

// Capture starts recording what goes to target into the file trace, and
// returns when the proxy listens.
func (p *Program) Capture(ctx context.Context, target, trace string, args ...string) (*Capture, error) {
	port, err := dbtest.FreePort()
	if err != nil {
		return nil, err
	}
	c := &Capture{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Trace: trace, done: make(chan struct{})}
	if !slices.Contains(args, "-o") {
		args = append(args, "-o", "json")
	}
	c.cmd = p.Command(append([]string{"capture", "--listen", c.Addr, "--target", target, "-w", trace}, args...)...)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.said
	if p.Talk != nil {
		c.cmd.Stderr = io.MultiWriter(&c.said, p.Talk)
	}
	if err := dbtest.StartBound(c.cmd, syscall.SIGKILL); err != nil {
		return nil, err
	}
	c.Pid = c.cmd.Process.Pid
	go func() { c.err = c.cmd.Wait(); close(c.done) }()
	return c, c.waitListening(ctx)
}

func (c *Capture) waitListening(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := dbtest.WaitListening(ctx, c.Addr); err != nil {
		c.Kill()
		return fmt.Errorf("retrace capture did not come up: %w\n%s", err, c.said.String())
	}
	return nil
}

// Stop ends the recording as an operator does, by SIGTERM, and waits.
func (c *Capture) Stop() Result {
	begun := time.Now()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	return c.Wait(30*time.Second, begun)
}

// Wait waits for a recording that ends by itself.
func (c *Capture) Wait(limit time.Duration, begun time.Time) Result {
	select {
	case <-c.done:
	case <-time.After(limit):
		c.Kill()
		return Result{Code: -1, Err: fmt.Sprintf("did not end in %s\n%s", limit, c.said.String())}
	}
	return Result{Code: exitCode(c.err), Out: c.out.String(), Err: c.said.String(), Took: time.Since(begun)}
}

// Kill ends it with no chance to say goodbye.
func (c *Capture) Kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// Said is what it has written to stderr so far.
func (c *Capture) Said() string { return c.said.String() }

// URL is the connection string of a client of the proxy, as the superuser.
func (c *Capture) URL(db string) string {
	return "postgres://" + dbtest.User + "@" + c.Addr + "/" + db
}

// lockedBuffer is a buffer that can be read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
