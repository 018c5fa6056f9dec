package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrace-db/retrace/trace"
)

type traceVerifyCmd struct {
	Files  []string `arg:"" name:"file" help:"Trace: files or directories of rotated files, together one trace; or - for stdin."`
	Output string   `short:"o" enum:"text,json" default:"text" placeholder:"text|json" help:"Form of the answer (${default})."`
}

func (*traceVerifyCmd) Examples() string {
	return `retrace trace verify monday.trace
retrace trace verify monday.trace.part || echo "exit $?: what could be read is above"`
}

// verifyReport is the JSON of trace verify.
type verifyReport struct {
	Schema     int            `json:"schema"`
	OK         bool           `json:"ok"`
	Complete   bool           `json:"complete"`
	Damage     []trace.Damage `json:"damage"`
	Problems   []string       `json:"problems"`   // what the format forbids, the first hundred
	Unanswered uint64         `json:"unanswered"` // events without a reply
	trace.Totals
}

// Run exits with 5 for whatever is less than a whole trace.
func (c *traceVerifyCmd) Run(_ context.Context, env Env) error {
	found, err := trace.Verify(paths(c.Files)...)
	if err != nil {
		return err
	}
	r := verifyReport{
		Schema: 1, OK: found.OK(), Complete: found.Complete, Totals: found.Totals, Unanswered: found.Unanswered,
		Damage: append([]trace.Damage{}, found.Damage...), Problems: append([]string{}, found.Problems...),
	}
	if c.Output == "json" {
		err = printJSON(env.Out, r)
	} else {
		_, err = fmt.Fprintf(env.Out, "%s\n", r.text())
	}
	if r.OK {
		return err
	}
	return errors.Join(err, r.failure())
}

func (r *verifyReport) text() string {
	read := fmt.Sprintf("%d sessions, %d events, %d statements", r.Sessions, r.Events, r.Statements)
	if r.Unanswered > 0 {
		read += fmt.Sprintf(", %d events without a reply", r.Unanswered)
	}
	if r.OK {
		return "whole: " + read
	}
	return "not whole; what could be read: " + read
}

// failure names everything that is wrong, each on a line.
func (r *verifyReport) failure() error {
	all := []error{damaged(r.Damage)}
	for i, p := range r.Problems {
		if i == maxDamageLines {
			all = append(all, exitError{Code: exitDamaged, Err: fmt.Errorf("%d more problems", len(r.Problems)-i)})
			break
		}
		all = append(all, exitError{Code: exitDamaged, Err: errors.New(p)})
	}
	if !r.Complete && len(r.Damage)+len(r.Problems) == 0 {
		all = append(all, exitError{Code: exitDamaged, Err: errors.New("the trace has no end: it was cut off, or is still being written")})
	}
	return errors.Join(all...)
}
