package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// ranWith runs a command line in this process.
func ranWith(ctx context.Context, in io.Reader, args ...string) (code int, out, talk string) {
	var stdout bytes.Buffer
	var stderr lockedBuffer
	code = run(ctx, Env{In: in, Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" }}, args)
	return code, stdout.String(), stderr.String()
}

func madeTrace(t *testing.T, events int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.trace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&traceMaker{sessions: 1, events: events}).write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a signal says about itself as the cause of a context; see os/signal.
var (
	errSIGINT  = errors.New("interrupt signal received")
	errSIGTERM = errors.New("terminated signal received")
)

// A signal while a pipe is read: the end still comes, and so does the report.
func TestSignalWhileAPipeIsRead(t *testing.T) {
	whole, err := os.ReadFile(madeTrace(t, 100))
	if err != nil {
		t.Fatal(err)
	}
	for signal, want := range map[error]int{errSIGINT: exitSIGINT, errSIGTERM: exitSIGTERM} {
		ctx, stop := context.WithCancelCause(t.Context())
		in := io.MultiReader(bytes.NewReader(whole[:500]), stopReader{func() { stop(signal) }}, bytes.NewReader(whole[500:]))
		code, out, talk := ranWith(ctx, in, "analyze", "-")
		if code != want || !strings.HasPrefix(out, "stdin: 100 statements") || strings.Contains(out, "note:") || talk != "" {
			t.Errorf("exit %d, said %q, reported:\n%s", code, talk, out)
		}
	}
}

// stopReader calls a function and has nothing to read.
type stopReader struct{ stop func() }

func (s stopReader) Read([]byte) (int, error) {
	s.stop()
	return 0, io.EOF
}

// A signal while a file is read ends that at once; what was read is reported,
// and the report says that there is more.
func TestSignalWhileAFileIsRead(t *testing.T) {
	path := madeTrace(t, 40_000)
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errSIGINT)
	code, out, _ := ranWith(ctx, nil, "analyze", path)
	if code != exitSIGINT || !strings.HasPrefix(out, "made: 16,384 statements") || !strings.Contains(out, "interrupted") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if code, out, _ := ranWith(ctx, nil, "trace", "cat", path); code != exitSIGINT || out != "" {
		t.Errorf("cat: exit %d, %d bytes", code, len(out))
	}
}

// A pipe that breaks is a failure, and what came through is reported.
func TestBrokenPipe(t *testing.T) {
	whole, err := os.ReadFile(madeTrace(t, 5000))
	if err != nil {
		t.Fatal(err)
	}
	broken := io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), iotest.ErrReader(errors.New("the wire was cut")))
	code, out, talk := ranWith(t.Context(), broken, "analyze", "-")
	if code != exitFailed || !strings.Contains(out, "statements") || !strings.Contains(talk, "the wire was cut") {
		t.Errorf("exit %d, said %q, reported:\n%s", code, talk, out)
	}
}

// Every verb that can fail to write its product says so.
func TestProductCannotBeWritten(t *testing.T) {
	path := madeTrace(t, 100)
	full := writerFunc(func([]byte) (int, error) { return 0, errors.New("no space left") })
	for _, args := range [][]string{
		{"analyze", path},
		{"analyze", "-o", "json", path},
		{"trace", "info", path},
		{"trace", "info", "-o", "json", path},
		{"trace", "cat", path},
		{"trace", "verify", path},
		{"trace", "diff", path, path},
		{"version"},
		{"--help"},
	} {
		var talk lockedBuffer
		code := run(t.Context(), Env{Out: full, Err: &talk}, args)
		if code != exitFailed || !strings.Contains(talk.String(), "no space left") {
			t.Errorf("%v: exit %d, said %q", args, code, talk.String())
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
