package filter

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/retrace-db/retrace/trace"
)

// key is what a word can ask about; one of quantity, ofEntry, ofState and
// ofEvent says how.
type key struct {
	name, example string
	reply         bool // known only after the reply
	check         func(pattern) error

	quantity *quantity
	ofEntry  func(*subject, pattern) bool // patterns are in lower case
	ofState  func(*trace.State) string
	ofEvent  func(*word) func(*trace.Event) bool
}

var keys = []key{
	{name: "op", example: "op:select,insert", check: isWord, ofEntry: func(s *subject, p pattern) bool {
		return slices.ContainsFunc(s.operations(), p.match)
	}},
	{name: "table", example: "table:orders", ofEntry: func(s *subject, p pattern) bool {
		return slices.ContainsFunc(s.tables(), p.match)
	}},
	{name: "text", example: `text:"for update"`, ofEntry: func(s *subject, p pattern) bool { return p.within(s.text()) }},
	{name: "fingerprint", example: "fingerprint:0123456789ab", check: isID, ofEntry: func(s *subject, p pattern) bool { return p.match(s.fingerprint()) }},
	{name: "db", example: "db:shop", ofState: func(s *trace.State) string { return s.Database }},
	{name: "user", example: "user:app", ofState: func(s *trace.State) string { return s.User }},
	{name: "app", example: "app:psql", ofState: func(s *trace.State) string { return s.Settings["application_name"] }},
	{name: "session", example: "session:17", check: isSession, ofEvent: sessionTest},
	{name: "ordinal", example: "ordinal:42", check: isOrdinal, ofEvent: ordinalTest},
	{name: "status", example: "status:error", check: isStatus, ofEvent: statusTest, reply: true},
	{name: "error", example: "error:40001", check: isCode, ofEvent: errorTest, reply: true},
	{name: "diverged", example: "diverged:rows", check: isDiverged, ofEvent: divergedTest, reply: true},
	{name: "took", example: "took>10ms", quantity: tookTime, reply: true},
	{name: "rows", example: "rows>1000", quantity: rowCount, reply: true},
	{name: "bytes", example: "bytes>1MB", quantity: replyBytes, reply: true},
}

// keyList is for errors.
var keyList string

func init() {
	examples := make([]string, len(keys))
	for i := range keys {
		examples[i] = keys[i].example
	}
	keyList = "there are " + strings.Join(examples, " ")
}

func keyNamed(name string) *key {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

// compile makes the test of a word with values.
func (w *word) compile() {
	k := w.key
	switch {
	case k.ofEntry != nil:
		lower := make([]pattern, len(w.values))
		for i := range w.values {
			lower[i] = w.values[i].lower()
		}
		w.ofEntry = func(s *subject) bool {
			return slices.ContainsFunc(lower, func(p pattern) bool { return k.ofEntry(s, p) })
		}
	case k.ofState != nil:
		w.ofEvent = func(_ *trace.Event, s *trace.State) bool { return s != nil && matchAny(w.values, k.ofState(s)) }
	default:
		test := k.ofEvent(w)
		w.ofEvent = func(e *trace.Event, _ *trace.State) bool { return test(e) }
	}
}

func matchAny(values []pattern, text string) bool {
	for _, v := range values {
		if v.match(text) {
			return true
		}
	}
	return false
}

func sessionTest(w *word) func(*trace.Event) bool {
	ids := w.numbers()
	return func(e *trace.Event) bool { return slices.Contains(ids, e.Session) }
}

func ordinalTest(w *word) func(*trace.Event) bool {
	ordinals := w.numbers()
	return func(e *trace.Event) bool { return slices.Contains(ordinals, e.Ordinal) }
}

func (w *word) numbers() []uint64 {
	all := make([]uint64, len(w.values))
	for i, v := range w.values {
		all[i], _ = strconv.ParseUint(v.text(), 10, 64) // was checked
	}
	return all
}

func statusTest(w *word) func(*trace.Event) bool {
	var wanted [len(statuses)]bool
	for _, v := range w.values {
		for i, s := range statuses {
			wanted[i] = wanted[i] || v.lower().match(s.String())
		}
	}
	return func(e *trace.Event) bool { s := statusOf(e); return int(s) < len(wanted) && wanted[s] }
}

// statusOf is the class an event is counted in: without a reply it is lost.
func statusOf(e *trace.Event) trace.Status {
	if !e.HasReply && e.Status == trace.OK {
		return trace.Lost
	}
	return e.Status
}

var statuses = [...]trace.Status{trace.OK, trace.Error, trace.Skipped, trace.Filtered, trace.Lost, trace.Unsent}

// divergences are the ways in which a run differs from what it replayed.
var divergences = [...]struct {
	name string
	bits trace.Diverged
}{
	{"status", trace.DivergedStatus},
	{"rows", trace.DivergedRows},
	{"result", trace.DivergedResult},
}

func divergedTest(w *word) func(*trace.Event) bool {
	var wanted trace.Diverged
	for _, v := range w.values {
		for _, d := range divergences {
			if v.lower().match(d.name) {
				wanted |= d.bits
			}
		}
	}
	return func(e *trace.Event) bool { return e.Diverged&wanted != 0 }
}

// errorTest looks codes up by their own text first: a trace has few.
func errorTest(w *word) func(*trace.Event) bool {
	values := make([]pattern, len(w.values))
	for i := range w.values {
		values[i] = w.values[i].lower()
	}
	known := map[string]bool{}
	return func(e *trace.Event) bool {
		if e.Status != trace.Error {
			return false
		}
		ok, seen := known[e.Reason]
		if !seen {
			if len(known) >= maxRemembered {
				clear(known)
			}
			ok = matchAny(values, strings.ToLower(e.Reason))
			known[strings.Clone(e.Reason)] = ok
		}
		return ok
	}
}

func isWord(p pattern) error {
	return onlyOf(p, "a word such as select, begin, prepare or close", func(c byte) bool {
		return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
	})
}

func isID(p pattern) error {
	return onlyOf(p, "the id of a statement in the report of analyze -o json, 12 hex digits", func(c byte) bool {
		return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
	})
}

func isCode(p pattern) error {
	return onlyOf(p, "an SQLSTATE such as 40001 or 40*", func(c byte) bool {
		return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
	})
}

func onlyOf(p pattern, what string, allowed func(byte) bool) error {
	all := strings.Join(p, "")
	for i := range len(all) {
		if !allowed(all[i]) {
			return fmt.Errorf("%q is not %s", strings.Join(p, "*"), what)
		}
	}
	if !p.stars() && all == "" {
		return fmt.Errorf("the empty value is not %s", what)
	}
	return nil
}

func isSession(p pattern) error {
	if _, err := strconv.ParseUint(p.text(), 10, 64); err != nil || p.stars() {
		return fmt.Errorf("%q is not the number of a session", strings.Join(p, "*"))
	}
	return nil
}

func isOrdinal(p pattern) error {
	if _, err := strconv.ParseUint(p.text(), 10, 64); err != nil || p.stars() {
		return fmt.Errorf("%q is not the number of an event in its session", strings.Join(p, "*"))
	}
	return nil
}

func isStatus(p pattern) error {
	for _, s := range statuses {
		if p.lower().match(s.String()) {
			return nil
		}
	}
	return errors.New(strconv.Quote(strings.Join(p, "*")) + " is none of ok, error, skipped, filtered, lost, unsent")
}

func isDiverged(p pattern) error {
	for _, d := range divergences {
		if p.lower().match(d.name) {
			return nil
		}
	}
	return errors.New(strconv.Quote(strings.Join(p, "*")) + " is none of status, rows, result")
}
