package analyze

import (
	"crypto/sha256"
	"strings"
	"unicode/utf8"

	"github.com/retrace-db/retrace/internal/fingerprint"
	"github.com/retrace-db/retrace/trace"
)

const (
	// DefaultFingerprints is how many fingerprints get a row of their own. The
	// rest share one, so that a program that writes values into names cannot
	// take all memory.
	DefaultFingerprints = 10_000

	maxText    = 8 << 10 // bytes of a fingerprint's text that are kept
	maxEntries = 1 << 16 // dictionary entries whose row is remembered
)

// row is one fingerprint with its figures in each run.
type row struct {
	id, sql, op string
	runs        []figures
}

// in returns the figures of a run.
func (r *row) in(run int) *figures {
	for len(r.runs) <= run {
		r.runs = append(r.runs, figures{})
	}
	return &r.runs[run]
}

// index finds the row of an event. It is one for all runs, so that all of them
// put the same fingerprints into the row of the rest.
type index struct {
	max     int
	rows    []*row
	other   *row // nil until it is needed
	byKey   map[[sha256.Size]byte]*row
	byEntry map[*trace.Entry]*row
}

func newIndex(limit int) *index {
	return &index{max: limit, byKey: map[[sha256.Size]byte]*row{}, byEntry: map[*trace.Entry]*row{}}
}

// find costs a map access; the text is folded once per dictionary entry.
func (x *index) find(e *trace.Entry) *row {
	if r, ok := x.byEntry[e]; ok {
		return r
	}
	if len(x.byEntry) >= maxEntries { // a long trace has many dictionaries
		clear(x.byEntry)
	}
	r := x.byText(fingerprint.Text(e.SQL()))
	x.byEntry[e] = r
	return r
}

func (x *index) byText(text string) *row {
	key := sha256.Sum256([]byte(text))
	if r, ok := x.byKey[key]; ok {
		return r
	}
	if len(x.rows) >= x.max {
		if x.other == nil {
			x.other = &row{id: "other", sql: "(fingerprints beyond the limit)"}
		}
		return x.other
	}
	r := &row{id: fingerprint.ID(text), sql: cut(text, maxText), op: verb(text)}
	if text == "" {
		r.sql = "(no text: empty, or prepared before the recording began)"
	}
	x.byKey[key] = r
	x.rows = append(x.rows, r)
	return r
}

// all are the rows in the order of their first statement, the rest last.
func (x *index) all() []*row {
	if x.other == nil {
		return x.rows
	}
	return append(x.rows[:len(x.rows):len(x.rows)], x.other)
}

// verb is the first word of the first statement.
func verb(text string) string {
	if verbs := fingerprint.Verbs(text); len(verbs) > 0 {
		return verbs[0]
	}
	return ""
}

// cut shortens a text at a character, and does not keep the long one alive.
func cut(text string, n int) string {
	if len(text) <= n {
		return strings.Clone(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + " …"
}
