package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Part says which part of which trace a trace holds.
type Part struct {
	Of       string   `json:"of"`             // the trace it was cut from
	From     string   `json:"from,omitempty"` // RFC 3339, UTC; nothing if it goes from its start
	To       string   `json:"to,omitempty"`
	Sessions []uint64 `json:"sessions,omitempty"` // if not all
	Where    string   `json:"where,omitempty"`    // filter that chose sessions
}

// CutOptions say which part of a trace Cut takes.
type CutOptions struct {
	From, To int64    // ns since the Unix epoch, as in ReadOptions
	Sessions []uint64 // none: all

	// Keep chooses sessions by their state, nil where that is not known; Where
	// is that choice in words, for the header.
	Keep  func(session uint64, s *State) bool
	Where string

	JoinOptions
}

// ErrNothing: the part that was asked for has no event.
var ErrNothing = errors.New("the trace has no event there")

// Cut writes a part of a trace as a trace of its own. It begins with the states
// of the sessions that are live there. Events keep their names and have their
// replies, whenever those came; what was left out is no gap, since the header
// says what was cut from what.
func Cut(r *Reader, out io.Writer, o CutOptions) (*Joined, error) {
	r.Options(ReadOptions{From: o.From, To: o.To, Sessions: o.Sessions})
	o.keep = o.Keep
	c, err := newCopier(r, out, o.JoinOptions, func(c *copier, h *Header) {
		h.Cut = partOf(h, &o)
		c.part = h.Cut
		h.Trace, h.Segment, h.Continues = h.Cut.id(), 0, false
		if o.From > startedAt(h) {
			h.Started, h.PausedFrom = h.Cut.From, ""
		}
	})
	if err != nil {
		return nil, err
	}
	if err = c.run(); err == nil {
		err = c.finish()
	}
	if err == nil && c.count == 0 {
		err = ErrNothing
	}
	return c.result(), err
}

func partOf(h *Header, o *CutOptions) *Part {
	p := &Part{Of: h.Trace, Sessions: o.Sessions, Where: o.Where}
	text := func(ns int64) string {
		if ns == 0 {
			return ""
		}
		return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
	}
	p.From, p.To = text(o.From), text(o.To)
	return p
}

// id follows from what is cut, so that the same cut makes the same bytes.
func (p *Part) id() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("marshalling strings: %v", err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Started is when the first segment began that the reader knows of.
func (r *Reader) Started() int64 {
	first := int64(0)
	for i, h := range r.Headers() {
		if at := startedAt(h); i == 0 || at < first {
			first = at
		}
	}
	return first
}
