package trace

// holes finds the ordinals that a trace passes over and no gap explains. Gaps
// may stand before or after the hole they explain.
type holes struct {
	open map[jump]int64   // not yet explained; where the next event starts, ns
	gaps map[uint64][]Gap // by session
	kept int
	// blind: there are more gaps than can be kept, and holes are not looked for.
	blind bool
}

// jump are ordinals of a session that were passed over.
type jump struct{ session, first, last uint64 }

// maxKept bounds the gaps that are remembered.
const maxKept = 1 << 20

func newHoles() holes {
	return holes{open: map[jump]int64{}, gaps: map[uint64][]Gap{}}
}

// pass takes ordinals that were passed over before an event at a time, and
// keeps what no gap so far explains.
func (h *holes) pass(j jump, at int64) {
	left := []jump{j}
	for _, g := range h.gaps[j.session] {
		var rest []jump
		for _, l := range left {
			rest = l.without(&g, rest)
		}
		left = rest
	}
	for _, l := range left {
		h.open[l] = at
	}
}

// without appends what a gap does not cover of a jump.
func (j jump) without(g *Gap, to []jump) []jump {
	if g.Last < j.first || g.First > j.last {
		return append(to, j)
	}
	if j.first < g.First {
		to = append(to, jump{j.session, j.first, g.First - 1})
	}
	if j.last > g.Last {
		to = append(to, jump{j.session, g.Last + 1, j.last})
	}
	return to
}

// explain takes a gap: it covers of the holes what it can, and is kept for
// those to come.
func (h *holes) explain(g *Gap) {
	for j, at := range h.open {
		if j.session == g.Session {
			delete(h.open, j)
			for _, rest := range j.without(g, nil) {
				h.open[rest] = at
			}
		}
	}
	if h.kept++; h.kept > maxKept {
		h.gaps, h.blind = nil, true
		return
	}
	h.gaps[g.Session] = append(h.gaps[g.Session], *g)
}

// forget lets go of the gaps of a session that is over.
func (h *holes) forget(session uint64) { delete(h.gaps, session) }
