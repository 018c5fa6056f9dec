package trace

import (
	"encoding/json"
	"fmt"
)

// maxRecords is how many bytes of JSON make a state or gap block, maxRecord
// bounds one record.
const (
	maxRecords = 1 << 20
	maxRecord  = 16 << 20
)

// recordLines collects JSON documents for a state or gap block.
type recordLines struct {
	lines       []byte
	count       int
	first, last int64
	lanes       uint64
}

func (l *recordLines) add(v any, session uint64, at int64) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > maxRecord {
		return fmt.Errorf("record of session %d takes %d bytes, over %d", session, len(b), maxRecord)
	}
	if l.count == 0 {
		l.first, l.last = at, at
	}
	l.first, l.last = min(l.first, at), max(l.last, at)
	l.lines = append(append(l.lines, b...), '\n')
	l.lanes |= lane(session)
	l.count++
	return nil
}

func (l *recordLines) full() bool { return len(l.lines) >= maxRecords || l.count >= maxCount }

func (l *recordLines) reset() { *l = recordLines{lines: l.lines[:0]} }

// State takes what a session has accumulated, before the events that rely on
// it. A state too large to keep leaves out prepared statements, and says so.
func (w *Writer) State(s *State) error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.addState(s); err != nil {
		return err
	}
	if w.states.full() {
		return w.seal(true)
	}
	return nil
}

func (w *Writer) addState(s *State) error {
	if size := stateSize(s); size > maxRecord {
		short := *s
		for size > maxRecord && len(short.Statements) > 0 {
			last := short.Statements[len(short.Statements)-1]
			size -= preparedSize(&last)
			short.Statements = short.Statements[:len(short.Statements)-1]
			short.Omitted++
		}
		s = &short
	}
	return w.states.add(s, s.Session, s.Start)
}

// stateSize is no less than what the JSON takes, base64 included.
func stateSize(s *State) int {
	n := 256 + 6*(len(s.Database)+len(s.User))
	for k, v := range s.Settings {
		n += 8 + 6*(len(k)+len(v))
	}
	for _, b := range s.Sets {
		n += 8 + (len(b)+4)*4/3
	}
	for _, b := range s.Uncommitted {
		n += 8 + (len(b)+4)*4/3
	}
	for _, p := range s.Pending {
		n += 64 + (len(p.Message)+4)*4/3
	}
	for i := range s.Statements {
		n += preparedSize(&s.Statements[i])
	}
	return n
}

func preparedSize(p *Prepared) int { return 64 + (len(p.Name)+len(p.Message)+4)*4/3 }

// Gap takes a record of events that are known to be missing.
func (w *Writer) Gap(g Gap) error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.addGap(&g); err != nil {
		return err
	}
	if w.gaps.full() {
		return w.seal(true)
	}
	return nil
}

func (w *Writer) addGap(g *Gap) error {
	if g.Last < g.First {
		return fmt.Errorf("gap of session %d from event %d to %d", g.Session, g.First, g.Last)
	}
	if err := w.gaps.add(g, g.Session, g.Start); err != nil {
		return err
	}
	w.gapTotals.gap(g)
	return nil
}
