package replay

import (
	"sync"

	"github.com/retrace-db/retrace/trace"
)

// entryRef names a dictionary entry in a record: records lie in a file, where a
// pointer cannot.
type entryRef struct{ epoch, slot uint32 }

// maxEpoch is how many entries an epoch numbers. A trace whose dictionary turns
// over for ever begins epoch after epoch, and those no session needs are let go.
const maxEpoch = 65536

// entries numbers the dictionary entries that queued records refer to. The
// reader adds, the sessions look up.
type entries struct {
	current map[*trace.Entry]uint32 // reader only

	mu     sync.RWMutex
	epoch  uint32
	epochs map[uint32][]*trace.Entry
}

func newEntries() *entries {
	return &entries{current: map[*trace.Entry]uint32{}, epochs: map[uint32][]*trace.Entry{}}
}

// ref numbers an entry. begun tells that a new epoch began with it.
func (n *entries) ref(e *trace.Entry) (ref entryRef, begun bool) {
	if slot, ok := n.current[e]; ok {
		return entryRef{n.epoch, slot}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.current) >= maxEpoch {
		n.epoch++
		clear(n.current)
		begun = true
	}
	slot := uint32(len(n.current))
	n.current[e] = slot
	n.epochs[n.epoch] = append(n.epochs[n.epoch], e)
	return entryRef{n.epoch, slot}, begun
}

// entry is the one that ref numbers.
func (n *entries) entry(ref entryRef) *trace.Entry {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.epochs[ref.epoch][ref.slot]
}

// forget lets go of the epochs before the oldest that is still needed.
func (n *entries) forget(oldest uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for epoch := range n.epochs {
		if epoch < oldest {
			delete(n.epochs, epoch)
		}
	}
}
