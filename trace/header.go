package trace

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Version is the major version of the format this package reads and writes.
const Version = 1

// DefaultTick is the unit of time columns in nanoseconds: a microsecond, since
// finer digits are noise that does not compress.
const DefaultTick = 1000

// What made a trace, and what its times mean.
const (
	ByCapture = "capture"
	ByReplay  = "replay"

	TimingOriginal   = "original"    // requests stand where a client put them
	TimingClosedLoop = "closed_loop" // requests followed replies; there was no schedule
)

// Header is the JSON of a segment's start block. Keys it does not know are
// kept, so that a copy made by an older program loses nothing.
type Header struct {
	Retrace       int        `json:"retrace"` // the major version
	Trace         string     `json:"trace"`   // 32 hex digits, the same in every segment
	Segment       int        `json:"segment"` // position in the trace, from 0
	Continues     bool       `json:"continues,omitempty"`
	TickNS        int64      `json:"tick_ns"`
	Engine        string     `json:"engine"`
	EngineVersion string     `json:"engine_version,omitempty"`
	MadeBy        string     `json:"made_by"`
	Tool          string     `json:"tool,omitempty"`
	Started       string     `json:"started"`               // RFC 3339 with nanoseconds, UTC
	PausedFrom    string     `json:"paused_from,omitempty"` // nothing was recorded from then until Started
	Sample        float64    `json:"sample,omitempty"`      // share of sessions that were to be recorded, if not all
	Restore       *Restore   `json:"restore,omitempty"`     // where the server was when recording was switched on
	Only          string     `json:"only,omitempty"`        // filter of what was to be recorded
	Timing        string     `json:"timing"`
	Source        *Source    `json:"source,omitempty"`
	Run           *Run       `json:"run,omitempty"`
	Joined        []string   `json:"joined,omitempty"`    // the traces that this one was made of
	Cut           *Part      `json:"cut,omitempty"`       // what this one is a part of
	Redaction     *Redaction `json:"redaction,omitempty"` // of the values, if they are not those that were sent
	Columns       []string   `json:"columns,omitempty"`   // of event blocks

	Extra map[string]json.RawMessage `json:"-"`
}

// Source says where traffic was recorded.
type Source struct {
	Target    string            `json:"target,omitempty"`    // without secrets
	Addresses []string          `json:"addresses,omitempty"` // the target's, resolved
	Listen    []string          `json:"listen,omitempty"`    // the recorder's own
	Settings  map[string]string `json:"settings,omitempty"`
}

// Restore is the place to which a copy of the recorded server is to be brought
// before a replay.
type Restore struct {
	LSN              string `json:"lsn"`
	Timeline         int64  `json:"timeline"`
	SystemIdentifier string `json:"system_identifier"` // of the cluster
	ServerTime       string `json:"server_time"`       // by its clock, as Started
	Standby          bool   `json:"standby,omitempty"` // it was one
	Point            string `json:"point,omitempty"`   // name of a restore point that was created there
}

// Run says what a replay replayed and how. A trace with a Run holds timings
// and outcomes, and no request bytes.
type Run struct {
	Source    string  `json:"source"` // Header.Trace of what was replayed
	Label     string  `json:"label,omitempty"`
	Number    int     `json:"number,omitempty"` // among the runs of one label, from 1
	Target    string  `json:"target,omitempty"`
	Pace      string  `json:"pace,omitempty"`
	Speed     float64 `json:"speed,omitempty"`
	RatePerS  float64 `json:"rate_per_s,omitempty"` // of pace rate
	MaxGapS   float64 `json:"max_gap_s,omitempty"`  // recorded silence was cut to this
	Loops     int     `json:"loops,omitempty"`      // how often the source was replayed, if several times
	DurationS float64 `json:"duration_s,omitempty"`
}

// IsRun tells whether the trace holds what a replay measured, not requests.
func (h *Header) IsRun() bool { return h.Run != nil }

// known are the keys of Header itself.
var known = []string{
	"retrace", "trace", "segment", "continues", "tick_ns", "engine", "engine_version",
	"made_by", "tool", "started", "paused_from", "sample", "restore", "only", "timing", "source", "run", "joined", "cut", "redaction", "columns",
}

type plainHeader Header

// MarshalJSON writes the known keys in their order, then the kept ones.
func (h Header) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(plainHeader(h))
	if err != nil || len(h.Extra) == 0 {
		return b, err
	}
	extra, err := json.Marshal(h.Extra)
	if err != nil {
		return nil, err
	}
	b = append(bytes.TrimSuffix(b, []byte("}")), ',')
	return append(b, extra[1:]...), nil
}

// UnmarshalJSON keeps the keys it does not know in Extra.
func (h *Header) UnmarshalJSON(b []byte) error {
	var p plainHeader
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	var extra map[string]json.RawMessage
	if err := json.Unmarshal(b, &extra); err != nil {
		return err
	}
	for _, k := range known {
		delete(extra, k)
	}
	if len(extra) > 0 {
		p.Extra = extra
	}
	*h = Header(p)
	return nil
}

// check refuses a header that the rest of the package could not work with.
func (h *Header) check() error {
	switch {
	case h.Retrace != Version:
		return fmt.Errorf("trace of format version %d, this program reads version %d: use the retrace that wrote it or a newer one", h.Retrace, Version)
	case h.TickNS < 1 || h.TickNS > 1e9:
		return fmt.Errorf("start block says tick_ns %d, not between 1 and 1000000000", h.TickNS)
	case !isTraceID(h.Trace):
		return fmt.Errorf("start block: trace id %.40q is not 32 hex digits", h.Trace)
	case h.Segment < 0:
		return fmt.Errorf("start block says segment %d", h.Segment)
	}
	return nil
}

func isTraceID(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 16
}
