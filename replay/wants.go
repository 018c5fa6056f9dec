package replay

import (
	"math"
	"sync"
)

// wants are the sessions that have run out of records, by how far ahead of the
// clock each is in the trace: the furthest needs what follows first.
type wants struct {
	mu   sync.Mutex
	heap heap[*want]
}

// want is a session's wish for records. Its lead is the recorded time that it has
// got to, less the recorded time that has passed on the clock.
type want struct {
	lead int64
	spot int // in the heap, -1 for none
}

func (w *want) before(o *want) bool { return w.lead > o.lead }
func (w *want) place(i int)         { w.spot = i }

func (w *wants) add(x *want, lead int64) {
	w.mu.Lock()
	x.lead = lead
	w.heap.push(x)
	w.mu.Unlock()
}

func (w *wants) remove(x *want) {
	w.mu.Lock()
	w.heap.remove(x.spot)
	w.mu.Unlock()
}

// furthest is the greatest lead, none where nobody wants anything.
func (w *wants) furthest() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.heap) == 0 {
		return none
	}
	return w.heap[0].lead
}

// none is no lead at all; all is the wish to read on whatever the clock says.
const (
	none = math.MinInt64
	all  = math.MaxInt64
)
