package trace

import (
	"math"
	"slices"
)

// window is the part of a trace that is asked for.
type window struct {
	from, to int64
	lanes    uint64
	sessions map[uint64]bool // nil: all

	waiting map[[2]uint64]bool // events that were passed on without their reply
	told    map[uint64]bool    // live sessions of which something was
}

// ReadOptions say what a Reader may leave out.
type ReadOptions struct {
	NoValues bool // neither sizes nor values: their columns are not unpacked

	// From and To, in ns since the Unix epoch, ask for the events that start in
	// [From, To), with their replies whenever those came; 0 is no limit. The
	// states of the sessions that are live at From come first. Where files allow
	// it, blocks that have no part in this are not read; from a pipe, the state
	// of a session may come again, nearer to its first event.
	From, To int64

	// Lanes asks for the sessions whose number modulo 64 is a bit that is set; 0
	// for all. Readers whose lanes are a partition read each event once between
	// them.
	Lanes uint64

	// Sessions asks for these only; none for all.
	Sessions []uint64
}

// Options must be called before Next, and after Follow.
func (r *Reader) Options(o ReadOptions) {
	r.dec.noValues = o.NoValues
	r.window = nil
	if o.From == 0 && o.To == 0 && o.Lanes == 0 && len(o.Sessions) == 0 {
		return
	}
	w := &window{from: math.MinInt64, to: math.MaxInt64, lanes: math.MaxUint64, waiting: map[[2]uint64]bool{}, told: map[uint64]bool{}}
	if o.From != 0 {
		w.from = o.From
	}
	if o.To != 0 {
		w.to = o.To
	}
	if o.Lanes != 0 {
		w.lanes = o.Lanes
	}
	if len(o.Sessions) > 0 {
		w.sessions = map[uint64]bool{}
		lanes := uint64(0)
		for _, id := range o.Sessions {
			w.sessions[id] = true
			lanes |= lane(id)
		}
		w.lanes &= lanes
	}
	r.window = w
	if r.started { // for a pipe's header, which says what the window counts from
		r.windowed()
	}
}

// Follow says who brings states up to date with the events before From. Without
// it they are as they were recorded last.
func (r *Reader) Follow(f Follower) { r.follower = f }

// bounded tells whether the window has a beginning.
func (w *window) bounded() bool { return w.from != math.MinInt64 }

// meets tells whether a block may hold something of the window.
func (w *window) meets(h *blockHeader) bool {
	if h.lanes&w.lanes == 0 {
		return false
	}
	return h.first < w.to && (h.last >= w.from || h.kind == kindState)
}

// before tells whether a block may say something of the time before it.
func (w *window) before(h *blockHeader) bool {
	return h.lanes&w.lanes != 0 && h.first < w.from
}

func (w *window) has(session uint64) bool {
	return lane(session)&w.lanes != 0 && (w.sessions == nil || w.sessions[session])
}

// narrow leaves in b what is inside the window. Of a session that is known,
// states are of no more use, nor, early, of one that is older than the window.
func (w *window) narrow(b *Batch, early bool) {
	b.Events = slices.DeleteFunc(b.Events, func(e Event) bool { return e.Start < w.from || e.Start >= w.to || !w.has(e.Session) })
	for i := range b.Events {
		e := &b.Events[i]
		if !e.HasReply {
			w.waiting[[2]uint64{e.Session, e.Ordinal}] = true
		}
		if w.told[e.Session] = true; e.Entry.Op == OpEnd || e.Entry.Op == OpCancel {
			delete(w.told, e.Session)
		}
	}
	b.Late = slices.DeleteFunc(b.Late, func(l Late) bool {
		name := [2]uint64{l.Session, l.Ordinal}
		ours := w.waiting[name]
		delete(w.waiting, name)
		return !ours
	})
	b.Gaps = slices.DeleteFunc(b.Gaps, func(g Gap) bool { return g.Start < w.from || g.Start >= w.to || !w.has(g.Session) })
	b.States = slices.DeleteFunc(b.States, func(s State) bool {
		start := ticked(s.Start, b.Header)
		if !w.has(s.Session) || start >= w.to || start < w.from && (s.Ordinal == 0 || early) || w.told[s.Session] {
			return true
		}
		w.told[s.Session] = true
		return false
	})
}

// tell takes note of states that are handed out.
func (w *window) tell(states []State) []State {
	for i := range states {
		w.told[states[i].Session] = true
	}
	return states
}
