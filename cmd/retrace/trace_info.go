package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/retrace-db/retrace/trace"
)

type traceInfoCmd struct {
	Files  []string `arg:"" name:"file" help:"Trace: files or directories of rotated files, together one trace; or - for stdin."`
	Output string   `short:"o" enum:"text,json" default:"text" placeholder:"text|json" help:"Form of the answer (${default})."`
}

func (*traceInfoCmd) Examples() string {
	return `retrace trace info monday.trace
retrace trace info -o json monday.trace | jq .bytes_per_statement
cat monday.trace | retrace trace info -`
}

// infoReport is the JSON of trace info.
type infoReport struct {
	Schema            int             `json:"schema"`
	Engine            string          `json:"engine"`
	EngineVersion     string          `json:"engine_version"`
	Complete          bool            `json:"complete"`
	Damage            []trace.Damage  `json:"damage"`
	Bytes             uint64          `json:"bytes"`
	Sessions          uint64          `json:"sessions"`
	Events            uint64          `json:"events"`
	Requests          uint64          `json:"requests"`
	Statements        uint64          `json:"statements"`
	SpanS             *float64        `json:"span_s"`
	BytesPerStatement *float64        `json:"bytes_per_statement"`
	Timing            string          `json:"timing"`
	Gaps              uint64          `json:"gaps"`
	Missing           uint64          `json:"missing"`
	LeftOut           uint64          `json:"left_out"` // events, on purpose
	Segments          int             `json:"segments"`
	Pauses            []pause         `json:"pauses"`   // of the recording
	Restores          []trace.Restore `json:"restores"` // where the server was each time that recording was switched on, where known
	Start             *trace.Header   `json:"start"`    // the first segment's start block
}

type pause struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Run answers from the headers and the index where it can.
func (c *traceInfoCmd) Run(_ context.Context, env Env) error {
	s, err := trace.Info(paths(c.Files)...)
	if err != nil {
		return err
	}
	r := infoOf(s)
	if c.Output == "json" {
		err = printJSON(env.Out, r)
	} else {
		err = r.print(env.Out)
	}
	return errors.Join(err, damaged(s.Damage))
}

func infoOf(s *trace.Summary) *infoReport {
	r := &infoReport{
		Schema: 1, Complete: s.Complete, Damage: append([]trace.Damage{}, s.Damage...), Bytes: s.Bytes,
		Sessions: s.Sessions, Events: s.Events, Requests: s.Requests, Statements: s.Statements,
		Gaps: s.Gaps, Missing: s.Missing, LeftOut: s.LeftOut, Pauses: []pause{}, Restores: []trace.Restore{}, Segments: len(s.Headers),
	}
	if s.Events > 0 {
		r.SpanS = new(float64(s.Last-s.First) / 1e9)
	}
	if s.Statements > 0 {
		r.BytesPerStatement = new(float64(s.Bytes) / float64(s.Statements))
	}
	for _, h := range s.Headers {
		if h.PausedFrom != "" {
			r.Pauses = append(r.Pauses, pause{h.PausedFrom, h.Started})
		}
	}
	for i, h := range s.Headers {
		if h.Restore != nil && (i == 0 || h.PausedFrom != "") { // else the same again
			r.Restores = append(r.Restores, *h.Restore)
		}
	}
	if len(s.Headers) > 0 {
		r.Start = s.Headers[0]
		r.Engine, r.EngineVersion, r.Timing = r.Start.Engine, r.Start.EngineVersion, r.Start.Timing
	}
	return r
}

// print writes one fact per line.
func (r *infoReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fact := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", name, escape(fmt.Sprintf(format, args...)))
	}
	if h := r.Start; h != nil {
		fact("trace", "%s", h.Trace)
		fact("made by", "%s", h.MadeBy+" "+h.Tool)
		fact("started", "%s", h.Started)
		r.origin(h, fact)
	}
	for _, at := range r.Restores {
		fact("restore to", "%s", placeOf(at))
	}
	if h := r.Start; h != nil && h.Sample > 0 {
		fact("sample", "%g %% of the sessions", h.Sample*100)
	}
	if h := r.Start; h != nil && h.Only != "" {
		fact("only", "%s", h.Only)
	}
	fact("engine", "%s", r.Engine+" "+r.EngineVersion)
	fact("timing", "%s", r.Timing)
	for _, p := range r.Pauses {
		fact("paused", "%s to %s", p.From, p.To)
	}
	fact("sessions", "%d", r.Sessions)
	fact("requests", "%d", r.Requests)
	fact("statements", "%d", r.Statements)
	fact("events", "%d", r.Events)
	if r.SpanS != nil {
		fact("span", "%.3f s", *r.SpanS)
	}
	size := fmt.Sprintf("%d bytes", r.Bytes)
	if r.BytesPerStatement != nil {
		size += fmt.Sprintf(", %.2f per statement", *r.BytesPerStatement)
	}
	fact("size", "%s", size)
	if r.Start != nil && slices.Contains(r.Start.Columns, "checksum") {
		fact("checksums", "of results")
	}
	fact("segments", "%d", r.Segments)
	gaps := "none"
	if r.Gaps > 0 {
		gaps = fmt.Sprintf("%d, with %d events missing", r.Gaps, r.Missing)
	}
	fact("gaps", "%s", gaps)
	if r.LeftOut > 0 {
		fact("left out", "%d events, on purpose", r.LeftOut)
	}
	fact("complete", "%s", whole(r.Complete, r.Damage))
	return t.Flush()
}

// placeOf names a place in a server's write-ahead log.
func placeOf(at trace.Restore) string {
	s := fmt.Sprintf("LSN %s on timeline %d of system %s, at %s", at.LSN, at.Timeline, at.SystemIdentifier, at.ServerTime)
	if at.Point != "" {
		s = fmt.Sprintf("restore point %s: ", at.Point) + s
	}
	if at.Standby {
		s += ", of a standby"
	}
	return s
}

// origin says where the traffic was recorded, or what was replayed where.
func (r *infoReport) origin(h *trace.Header, fact func(name, format string, args ...any)) {
	if h.Run == nil && h.Source != nil && h.Source.Target != "" {
		fact("recorded at", "%s", h.Source.Target)
	}
	if h.Run != nil {
		fact("replay of", "%s", h.Run.Source)
		fact("replayed on", "%s", h.Run.Target)
		fact("pace", "%s", paceText(h.Run))
	}
}

// paceText is the pace of a run in words.
func paceText(r *trace.Run) string {
	switch {
	case r.RatePerS > 0:
		return fmt.Sprintf("%s, %g requests a second", r.Pace, r.RatePerS)
	case r.Speed > 0:
		return fmt.Sprintf("%s, speed %g", r.Pace, r.Speed)
	}
	return r.Pace
}
