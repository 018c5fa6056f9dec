package trace

import (
	"cmp"
	"slices"
)

// lateReply is the reply of an event whose block was written before it came.
// Waiting for it would hold up the block, or put the event where its reply
// came instead of where it began.
type lateReply struct {
	outcome
	session, ordinal uint64
	start            int64
	shape            uint32 // id+1 if it changed
}

// gatherLate turns late replies into columns. They are written in order of
// session and ordinal, consecutive ordinals as one run.
func (c *columns) gatherLate(late []lateReply, d *dictionary) {
	c.reset()
	slices.SortFunc(late, func(a, b lateReply) int {
		return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.ordinal, b.ordinal))
	})
	n := 0
	for i := range late {
		l := &late[i]
		if i == 0 || l.session != late[i-1].session || l.ordinal != late[i-1].ordinal+1 {
			if i > 0 {
				c.endRun(n)
			}
			c.run(l.session, l.ordinal)
			n = 0
		}
		n++
		c.span(l.start)
		c.outcome(&l.outcome, d)
		c.shape = appendUvarint(c.shape, uint64(l.shape))
	}
	c.endRun(n)
}
