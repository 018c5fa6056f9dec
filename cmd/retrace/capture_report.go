package main

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/retrace-db/retrace/capture"
	"github.com/retrace-db/retrace/trace"
)

// captureReport is the JSON of capture.
type captureReport struct {
	Schema     int          `json:"schema"`
	ElapsedS   float64      `json:"elapsed_s"`
	Sessions   uint64       `json:"sessions"`
	Requests   uint64       `json:"requests"`
	Statements uint64       `json:"statements"`
	Bytes      uint64       `json:"bytes"`
	Gaps       []captureGap `json:"gaps"`       // the first 10,000
	GapsTotal  uint64       `json:"gaps_total"` // all of them
	Missing    uint64       `json:"missing"`    // events the gaps stand for
	LeftOut    []leftOut    `json:"left_out"`   // on purpose: no loss
	Refused    int64        `json:"refused"`    // connections that could not become sessions
	Failed     int64        `json:"failed"`     // sessions for which the target was not there
	Complete   bool         `json:"complete"`
}

type leftOut struct {
	Why      string `json:"why"`
	Sessions uint64 `json:"sessions"` // of which nothing was recorded
	Events   uint64 `json:"events"`   // these sessions' and others'
}

func leftOuts(all []capture.LeftOut) []leftOut {
	out := []leftOut{}
	for _, l := range all {
		out = append(out, leftOut(l))
	}
	return out
}

type captureGap struct {
	Session uint64 `json:"session"`
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
	Why     string `json:"why"`
}

// report sums up. unwritten is why the trace lacks its end, or nil.
func (r *recording) report(unwritten error) error {
	got, counts := r.recorder.Recorded(), r.proxy.Counts()
	out := captureReport{
		Schema: 1, ElapsedS: time.Since(r.began).Seconds(), Sessions: got.Sessions, Requests: got.Requests,
		Statements: got.Statements, Bytes: got.Bytes, Gaps: []captureGap{}, GapsTotal: got.Totals.Gaps, Missing: got.Missing,
		LeftOut: leftOuts(got.LeftOut), Refused: counts.Refused, Failed: counts.Failed,
		Complete: got.Totals.Gaps == 0 && unwritten == nil,
	}
	for _, g := range got.Gaps {
		out.Gaps = append(out.Gaps, captureGap{g.Session, g.First, g.Last, g.Why})
	}
	if r.Output == "json" {
		if err := printJSON(r.env.Out, out); err != nil {
			return err
		}
	} else if !r.Quiet {
		r.sumUp(out)
	}
	return r.shortfall(got, unwritten)
}

func (r *recording) sumUp(o captureReport) {
	into := r.Write
	if into == "-" {
		into = "stdout"
	}
	_, _ = fmt.Fprintf(r.env.Err, "capture: %d sessions, %d statements in %d requests over %.1f s; %s in %s\n",
		o.Sessions, o.Statements, o.Requests, o.ElapsedS, size(o.Bytes), escape(into))
	for _, l := range o.LeftOut {
		_, _ = fmt.Fprintf(r.env.Err, "capture: left out, as asked, since %s: %d events, and of %d sessions everything\n", l.Why, l.Events, l.Sessions)
	}
	if o.Failed > 0 {
		_, _ = fmt.Fprintf(r.env.Err, "capture: the target was not there for %d sessions\n", o.Failed)
	}
	if o.Refused > 0 {
		_, _ = fmt.Fprintf(r.env.Err, "capture: %d connections were refused\n", o.Refused)
	}
}

// shortfall is the error of a recording that is not whole.
func (r *recording) shortfall(got capture.Recorded, unwritten error) error {
	var what []string
	if got.Totals.Gaps > 0 {
		what = append(what, fmt.Sprintf("%d events were not recorded (%s)", got.Missing, reasons(got.Gaps)))
	}
	switch {
	case unwritten != nil && r.Write != "-":
		what = append(what, fmt.Sprintf("the trace lacks its end, since %v; what could be written is in %s", unwritten, filepath.Clean(r.Write)+".part"))
	case unwritten != nil:
		what = append(what, fmt.Sprintf("the trace lacks its end, since %v", unwritten))
	case got.Trouble != nil:
		what = append(what, fmt.Sprintf("for some time the trace could not be written, since %v", got.Trouble))
	}
	if len(what) == 0 {
		return nil
	}
	return exitError{Code: exitDiffers, Err: fmt.Errorf("%s; the applications' traffic was not affected", strings.Join(what, "; "))}
}

// reasons counts why gaps are there, the commonest first.
func reasons(gaps []trace.Gap) string {
	count := map[string]int{}
	for _, g := range gaps {
		count[g.Why]++
	}
	var all []string
	for why := range count {
		all = append(all, why)
	}
	sort.Slice(all, func(i, j int) bool {
		if count[all[i]] != count[all[j]] {
			return count[all[i]] > count[all[j]]
		}
		return all[i] < all[j]
	})
	const most = 3
	if len(all) > most {
		all = append(all[:most], fmt.Sprintf("%d more reasons", len(all)-most))
	}
	return strings.Join(all, ", ")
}

// size is a number of bytes for people.
func size(n uint64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// rate turns a counter into a speed between two looks at it.
type rate struct {
	at    time.Time
	count uint64
	speed float64
}

func (r *rate) of(count uint64, now time.Time) float64 {
	if passed := now.Sub(r.at).Seconds(); passed >= 0.9 || r.at.IsZero() {
		if !r.at.IsZero() {
			r.speed = float64(count-r.count) / passed
		}
		r.at, r.count = now, count
	}
	return r.speed
}

// step is the status line.
func (r *recording) step() step {
	got := r.recorder.Recorded()
	words := fmt.Sprintf("%d sessions, %.0f statements/s, %s, %d gaps",
		r.proxy.Counts().Live, r.rate.of(got.Statements, time.Now()), size(got.Bytes), got.Totals.Gaps)
	if !got.On {
		words += ", paused"
	}
	if got.Broken {
		words += fmt.Sprintf(", NOT RECORDING: %v", got.Trouble)
	}
	return step{Words: words}
}
