package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
)

// The exit codes are API: scripts branch on them.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2 // with a Try: line
	exitDiffers = 3 // ran, but lost events, broke the accounting, diverged too far, or found a difference
	exitGate    = 4
	exitDamaged = 5   // a damaged trace: what could be read was
	exitSIGINT  = 130 // ended by the signal, after a clean close
	exitSIGTERM = 143
)

// exitRank orders the codes for a run that has earned several: a plain failure
// hides the rest, a signal is named only when there is nothing else to say.
var exitRank = []int{exitUsage, exitFailed, exitDamaged, exitDiffers, exitGate, exitSIGINT, exitSIGTERM}

// exitError is an error that has a code of its own. Errors without one are
// failures (1). Several codes can be joined with errors.Join. A nil Err exits
// without a word, for verbs that have already said what there is to say.
type exitError struct {
	Code int
	Err  error
	Try  string // a command line that would do, for usage errors
}

func (e exitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e exitError) Unwrap() error { return e.Err }

// usageError is a mistake on the command line; try is a line that would do.
func usageError(try, format string, args ...any) error {
	return exitError{Code: exitUsage, Err: fmt.Errorf(format, args...), Try: try}
}

// interrupted is the error of a run that a signal ended, or nil.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	code := exitSIGINT
	if cause := context.Cause(ctx); cause != nil && strings.HasPrefix(cause.Error(), syscall.SIGTERM.String()) {
		code = exitSIGTERM
	}
	return exitError{Code: code}
}

// report prints what went wrong and returns the code to exit with.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	for _, e := range flatten(err) {
		x := coded(e)
		if x.Err != nil {
			_, _ = fmt.Fprintf(w, "retrace: %s\n", escapeLines(e.Error()))
		}
		if x.Try != "" {
			_, _ = fmt.Fprintf(w, "Try: %s\n", x.Try)
		}
	}
	return exitOf(err)
}

// exitOf is the code that an error, which may be several, earns.
func exitOf(err error) int {
	code := exitDone
	if err == nil {
		return code
	}
	for _, e := range flatten(err) {
		code = worse(code, coded(e).Code)
	}
	return code
}

// coded finds the code of an error, given by value or by pointer.
func coded(err error) exitError {
	var x exitError
	if errors.As(err, &x) {
		return x
	}
	var p *exitError
	if errors.As(err, &p) {
		return *p
	}
	return exitError{Code: exitFailed, Err: err}
}

func worse(a, b int) int {
	for _, code := range exitRank {
		if a == code || b == code {
			return code
		}
	}
	return max(a, b)
}

// flatten takes joined errors apart, so that each keeps its code and its line.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}
