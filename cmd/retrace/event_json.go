package main

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/retrace-db/retrace/trace"
)

// eventLine is the JSON of one event: API, described in trace/EXPORT.md.
type eventLine struct {
	Start      string   `json:"start"`
	StartNS    int64    `json:"start_ns"`
	Session    uint64   `json:"session"`
	Ordinal    uint64   `json:"ordinal"`
	Database   *string  `json:"database"` // of the session, as at connect; null where not known
	User       *string  `json:"user"`
	App        *string  `json:"application_name"`
	Op         string   `json:"op"`
	RequestEnd bool     `json:"request_end"`
	OverLimit  bool     `json:"over_limit"`
	TookUS     *float64 `json:"took_us"` // null where no reply is known
	FirstUS    *float64 `json:"first_us"`
	Rows       uint64   `json:"rows"`
	Results    uint32   `json:"results"`
	ReplyBytes uint64   `json:"reply_bytes"`
	Checksum   *string  `json:"checksum"` // of the result, hexadecimal; null where not recorded
	Status     *string  `json:"status"`
	Reason     string   `json:"reason"`
	State      string   `json:"state"`
	DueNS      *int64   `json:"due_ns"`
	Diverged   []string `json:"diverged"`
	SQL        any      `json:"sql"`
	Types      []uint32 `json:"types,omitempty"`
	Values     any      `json:"values,omitempty"` // null where they were not kept, as in a run
}

// eventJSON writes lines of JSON.
type eventJSON struct {
	values bool // with the values
	run    bool // of a trace that kept none
	tty    bool // safe to show
}

// append appends the line of one event.
func (j eventJSON) append(b []byte, e *trace.Event, of *trace.State) ([]byte, error) {
	l := eventLine{
		Start: stamp(e.Start), StartNS: e.Start, Session: e.Session, Ordinal: e.Ordinal, Op: e.Entry.Op.String(),
		RequestEnd: e.RequestEnd, OverLimit: e.OverLimit, Diverged: divergedNames(e.Diverged), SQL: lossless(e.Entry.SQL()), Types: e.Entry.Types,
	}
	if e.HasReply {
		l.TookUS, l.FirstUS = new(float64(e.Took)/1e3), new(float64(e.Took-e.Tail)/1e3)
		l.Rows, l.Results, l.ReplyBytes = e.Rows, e.Results, e.Bytes
		if e.HasChecksum {
			l.Checksum = new(fmt.Sprintf("%016x", e.Checksum))
		}
	}
	if e.HasReply || e.Status != trace.OK {
		l.Status, l.Reason = new(e.Status.String()), e.Reason
	}
	if e.State != 0 {
		l.State = string(rune(e.State))
	}
	if e.HasDue {
		l.DueNS = &e.Due
	}
	if of != nil {
		app := of.Settings["application_name"]
		l.Database, l.User, l.App = &of.Database, &of.User, &app
	}
	if j.values && !j.run {
		l.Values = values(e)
	} else if j.values {
		l.Values = []any(nil)
	}
	line, err := json.Marshal(l)
	if j.tty {
		line = safeJSON(line)
	}
	return append(append(b, line...), '\n'), err
}

func divergedNames(d trace.Diverged) []string {
	names := []string{}
	if d&trace.DivergedStatus != 0 {
		names = append(names, "status")
	}
	if d&trace.DivergedRows != 0 {
		names = append(names, "rows")
	}
	if d&trace.DivergedResult != 0 {
		names = append(names, "result")
	}
	return names
}

func values(e *trace.Event) []any {
	out := make([]any, 0, len(e.Sizes))
	eachValue(e, func() { out = append(out, nil) },
		func() { out = append(out, map[string]bool{"redacted": true}) },
		func(v string) { out = append(out, lossless(v)) })
	return out
}

// lossless is a JSON value from which the bytes can be had again.
func lossless(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return map[string][]byte{"base64": []byte(s)}
}
