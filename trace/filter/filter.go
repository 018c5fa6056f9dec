package filter

import (
	"strings"

	"github.com/retrace-db/retrace/trace"
)

// Filter is a parsed filter; see the package for the language. The nil Filter
// matches everything. A Filter remembers what it has found out about dictionary
// entries, so one goroutine at a time may use it.
type Filter struct {
	words   []word
	byEntry map[*trace.Entry]bool // whether the words about the SQL match
	last    *trace.Entry
	lastOK  bool
}

// word is one condition. Exactly one of the tests is set.
type word struct {
	negated bool
	key     *key
	values  []pattern  // after a colon
	compare comparison // of a quantity

	ofEntry func(*subject) bool
	ofEvent func(*trace.Event, *trace.State) bool
}

// maxRemembered bounds what is kept of entries: a long trace has many dictionaries.
const maxRemembered = 1 << 16

// Match tells whether an event is meant. s is its session's state, nil if that
// is not known; see NeedsState. The entry must not change afterwards: what the
// SQL says is worked out once for each.
func (f *Filter) Match(e *trace.Event, s *trace.State) bool {
	if f == nil {
		return true
	}
	if f.byEntry != nil && !f.entry(e.Entry) {
		return false
	}
	for i := range f.words {
		if w := &f.words[i]; w.ofEvent != nil && w.ofEvent(e, s) == w.negated {
			return false
		}
	}
	return true
}

// entry tests the words about the SQL, once per entry.
func (f *Filter) entry(e *trace.Entry) bool {
	if e == f.last && e != nil {
		return f.lastOK
	}
	ok, known := f.byEntry[e]
	if !known {
		if len(f.byEntry) >= maxRemembered {
			clear(f.byEntry)
		}
		ok = f.judge(e)
		f.byEntry[e] = ok
	}
	f.last, f.lastOK = e, ok
	return ok
}

func (f *Filter) judge(e *trace.Entry) bool {
	s := subject{entry: e}
	for i := range f.words {
		if w := &f.words[i]; w.ofEntry != nil && w.ofEntry(&s) == w.negated {
			return false
		}
	}
	return true
}

// NeedsReply tells whether the filter asks for what is known only after the
// reply: status, error, took, rows, bytes.
func (f *Filter) NeedsReply() bool {
	return f.any(func(k *key) bool { return k.reply })
}

// NeedsState tells whether the filter asks for what only the session's state
// tells: db, user, app.
func (f *Filter) NeedsState() bool {
	return f.any(func(k *key) bool { return k.ofState != nil })
}

// NeedsOrdinal tells whether the filter asks for an event's number in its
// session, which is there once the event is recorded.
func (f *Filter) NeedsOrdinal() bool {
	return f.any(func(k *key) bool { return k.name == "ordinal" })
}

// OnlySessions tells whether the filter asks about nothing but sessions: db,
// user, app, session. Then it chooses whole sessions; see MatchSession.
func (f *Filter) OnlySessions() bool {
	return !f.any(func(k *key) bool { return k.ofState == nil && k.name != "session" })
}

// MatchSession tells whether a session is meant by a filter about sessions only.
func (f *Filter) MatchSession(id uint64, s *trace.State) bool {
	return f.Match(&trace.Event{Session: id}, s)
}

func (f *Filter) any(is func(*key) bool) bool {
	if f == nil {
		return false
	}
	for i := range f.words {
		if is(f.words[i].key) {
			return true
		}
	}
	return false
}

// String is a text that parses to the same filter.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	var b strings.Builder
	for i := range f.words {
		if i > 0 {
			b.WriteByte(' ')
		}
		f.words[i].write(&b)
	}
	return b.String()
}

func (w *word) write(b *strings.Builder) {
	if w.negated {
		b.WriteByte('-')
	}
	b.WriteString(w.key.name)
	if w.key.quantity != nil {
		b.WriteString(w.compare.sign)
		b.WriteString(w.key.quantity.show(w.compare.than))
		return
	}
	b.WriteByte(':')
	for i := range w.values {
		if i > 0 {
			b.WriteByte(',')
		}
		w.values[i].write(b)
	}
}
