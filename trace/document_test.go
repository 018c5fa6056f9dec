package trace

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// document is what a reader must see in a trace, in the form of the files
// beside the vectors and of read.py.
type document struct {
	Segments []documentSegment `json:"segments"`
	Events   []documentEvent   `json:"events"` // by session, then ordinal
	States   []State           `json:"states"`
	Gaps     []Gap             `json:"gaps"`
	Damaged  bool              `json:"damaged"`
	Complete bool              `json:"complete"`
}

type documentSegment struct {
	Trace   string  `json:"trace"`
	Segment int     `json:"segment"`
	Engine  string  `json:"engine"`
	MadeBy  string  `json:"made_by"`
	RunOf   *string `json:"run_of"`
}

type documentEvent struct {
	Session    uint64         `json:"session"`
	Ordinal    uint64         `json:"ordinal"`
	StartNS    int64          `json:"start_ns"`
	Op         string         `json:"op"`
	SQL        any            `json:"sql"`
	Types      []uint32       `json:"types"`
	Values     []any          `json:"values"`  // null where none were kept
	Request    any            `json:"request"` // the bytes the client sent; null where they cannot be told
	RequestEnd bool           `json:"request_end"`
	OverLimit  bool           `json:"over_limit"`
	DueNS      *int64         `json:"due_ns"`
	Diverged   Diverged       `json:"diverged"`
	Reply      *documentReply `json:"reply"`
}

type documentReply struct {
	TookNS   int64   `json:"took_ns"`
	TailNS   int64   `json:"tail_ns"`
	Rows     uint64  `json:"rows"`
	Bytes    uint64  `json:"bytes"`
	Results  uint32  `json:"results"`
	Status   string  `json:"status"`
	State    string  `json:"state"`
	Reason   string  `json:"reason"`
	Checksum *uint64 `json:"checksum"`
}

// documentOf reads a trace with this package.
func documentOf(b []byte) (*document, error) {
	r := NewReader(bytes.NewReader(b), "vector")
	d := &document{Segments: []documentSegment{}, Events: []documentEvent{}, States: []State{}, Gaps: []Gap{}}
	at := map[[2]uint64]int{}
	var batch Batch
	for {
		err := r.Next(&batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range batch.Events {
			e := &batch.Events[i]
			at[[2]uint64{e.Session, e.Ordinal}] = len(d.Events)
			d.Events = append(d.Events, eventDocument(e, batch.Header.IsRun()))
		}
		for i := range batch.Late {
			l := &batch.Late[i]
			if i, ok := at[[2]uint64{l.Session, l.Ordinal}]; ok {
				d.Events[i].answer(&l.Reply, l.Entry)
			}
		}
		d.States = append(d.States, batch.States...)
		d.Gaps = append(d.Gaps, batch.Gaps...)
	}
	for _, h := range r.Headers() {
		s := documentSegment{Trace: h.Trace, Segment: h.Segment, Engine: h.Engine, MadeBy: h.MadeBy}
		if h.Run != nil {
			s.RunOf = &h.Run.Source
		}
		d.Segments = append(d.Segments, s)
	}
	slices.SortStableFunc(d.Events, func(a, b documentEvent) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	d.Damaged, d.Complete = len(r.Damage()) > 0, r.Complete()
	return d, nil
}

func eventDocument(e *Event, run bool) documentEvent {
	d := documentEvent{
		Session: e.Session, Ordinal: e.Ordinal, StartNS: e.Start, Op: string(rune(e.Entry.Op)),
		RequestEnd: e.RequestEnd, OverLimit: e.OverLimit, Diverged: e.Diverged,
	}
	d.describe(e.Entry)
	if e.HasDue {
		d.DueNS = new(e.Due)
	}
	if e.HasReply {
		d.answer(&e.Reply, nil)
	}
	if run || len(e.Sizes) < e.Entry.Holes {
		return d
	}
	d.Values = []any{}
	rest := e.Values
	for _, n := range e.Sizes {
		switch n {
		case SizeNull:
			d.Values = append(d.Values, nil)
		case SizeRedacted:
			d.Values = append(d.Values, map[string]any{"redacted": true})
		default:
			d.Values = append(d.Values, losslessBytes(rest[:n-SizeOf(0)]))
			rest = rest[n-SizeOf(0):]
		}
	}
	if request, ok := joinShape(e.Entry.Shape, e.Sizes, e.Values); ok && !e.OverLimit {
		d.Request = losslessBytes(request)
	}
	return d
}

func (d *documentEvent) describe(e *Entry) {
	d.Op, d.SQL, d.Types = string(rune(e.Op)), losslessBytes([]byte(e.SQL())), append([]uint32{}, e.Types...)
}

func (d *documentEvent) answer(r *Reply, e *Entry) {
	if e != nil {
		d.describe(e)
	}
	d.Reply = &documentReply{
		TookNS: r.Took, TailNS: r.Tail, Rows: r.Rows, Bytes: r.Bytes, Results: r.Results, Status: r.Status.String(), Reason: r.Reason,
	}
	if r.State != 0 {
		d.Reply.State = string(rune(r.State))
	}
	if r.HasChecksum {
		d.Reply.Checksum = new(r.Checksum)
	}
}

func losslessBytes(b []byte) any {
	if utf8.Valid(b) {
		return string(b)
	}
	return map[string]any{"base64": slices.Clone(b)}
}

// joinShape is FORMAT.md's join; false where the bytes cannot be told.
func joinShape(shape []byte, sizes []uint64, values []byte) ([]byte, bool) {
	var out []byte
	begun := -1
	end := func() {
		if begun >= 0 {
			binary.BigEndian.PutUint32(out[begun+1:], uint32(len(out)-begun-1))
		}
	}
	for len(shape) > 0 {
		token := shape[0]
		shape = shape[1:]
		switch token {
		case tokenMessage:
			end()
			begun = len(out)
			out = append(out, shape[0], 0, 0, 0, 0)
			shape = shape[1:]
		case tokenLiteral:
			n, k := binary.Uvarint(shape)
			out = append(out, shape[k:k+int(n)]...)
			shape = shape[k+int(n):]
		default:
			n := sizes[0]
			sizes = sizes[1:]
			switch {
			case n == SizeRedacted || n == SizeNull && token == tokenRaw:
				return nil, false
			case n == SizeNull:
				out = append(out, 0xff, 0xff, 0xff, 0xff)
			default:
				if token == tokenParam {
					out = binary.BigEndian.AppendUint32(out, uint32(n-SizeOf(0)))
				}
				out = append(out, values[:n-SizeOf(0)]...)
				values = values[n-SizeOf(0):]
			}
		}
	}
	end()
	return out, true
}

// parsedDocument makes documents comparable, whoever wrote them.
func parsedDocument(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w in %.200q", err, b)
	}
	return v, nil
}
