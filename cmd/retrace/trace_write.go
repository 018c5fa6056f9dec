package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/retrace-db/retrace/trace"
)

// newTrace makes the file that -w names for what is made of inputs: never one
// of these, whatever --force says. try is a command line that would do.
func newTrace(env Env, path string, force bool, inputs []string, try string) (traceOut, error) {
	if path == "-" {
		if env.OutTTY {
			return traceOut{}, usageError(try, "-w - would write a binary trace to the terminal")
		}
		return traceOut{env.Out, nil}, nil
	}
	for _, written := range []string{path, path + ".part"} { // the second until it is whole
		if in, ok := isInput(written, inputs); ok {
			return traceOut{}, usageError(try, "-w %s would write over %s, which is read: choose another name", path, in)
		}
	}
	file, err := trace.Create(path, force)
	return traceOut{file, file}, err
}

// discard removes what was written: it can be made again.
func (o traceOut) discard() error {
	if o.file == nil {
		return nil
	}
	err := o.file.Abandon()
	if part := o.file.Name() + ".part"; err == nil {
		if err = os.Remove(part); errors.Is(err, os.ErrNotExist) {
			return nil // a device is written in place
		}
	}
	return err
}

// isInput tells whether a file is one of the inputs, or lies in a directory
// that is one.
func isInput(path string, inputs []string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	for _, in := range inputs {
		other, err := os.Stat(in)
		if err != nil {
			continue
		}
		if other.IsDir() {
			dir, err := os.Stat(filepath.Dir(path))
			if err == nil && os.SameFile(dir, other) {
				return in, true
			}
		}
		if os.SameFile(info, other) && info.Mode().IsRegular() {
			return in, true
		}
	}
	return "", false
}

// copyReport is the JSON of the verbs that make one trace of others.
type copyReport struct {
	Schema     int            `json:"schema"`
	Complete   bool           `json:"complete"` // what was read is whole: nothing is lost
	Damage     []trace.Damage `json:"damage"`
	Segments   int            `json:"segments"`
	LostGaps   uint64         `json:"lost_gaps"`   // gaps that stand for events which could not be read
	LostEvents uint64         `json:"lost_events"` // how many events these name
	Unanswered uint64         `json:"unanswered"`  // events without a reply
	trace.Totals
}

func copyReportOf(j *trace.Joined) copyReport {
	return copyReport{
		Schema: 1, Complete: j.Complete, Damage: append([]trace.Damage{}, j.Damage...), Segments: j.Segments,
		LostGaps: j.LostGaps, LostEvents: j.LostEvents, Unanswered: j.Unanswered, Totals: j.Totals,
	}
}

// words are what was written.
func (r *copyReport) words() string {
	s := fmt.Sprintf("%d sessions, %d events, %d statements, %d bytes", r.Sessions, r.Events, r.Statements, r.Bytes)
	if r.Unanswered > 0 {
		s += fmt.Sprintf("; %d events have no reply", r.Unanswered)
	}
	return s
}
