package clock

// waiter is one goroutine waiting for a moment, or one call to make then.
type waiter struct {
	at    int64
	index int           // in the queue, or -1 when it is not there
	wake  chan struct{} // capacity 1: whoever takes a waiter off the queue fills it
	call  func()        // or nil
}

// queue is a binary heap of waiters, the earliest first. It is written out
// because container/heap would cost an interface call per step and a box per
// wait, ten thousand times a second.
type queue []*waiter

func (q queue) less(i, j int) bool { return q[i].at < q[j].at }

func (q queue) swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) push(w *waiter) {
	w.index = len(*q)
	*q = append(*q, w)
	q.up(w.index)
}

// remove takes out the waiter at index i.
func (q *queue) remove(i int) *waiter {
	last := len(*q) - 1
	w := (*q)[i]
	q.swap(i, last)
	(*q)[last] = nil
	*q = (*q)[:last]
	if i < last {
		q.down(i)
		q.up(i)
	}
	w.index = -1
	return w
}

func (q queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.swap(i, parent)
		i = parent
	}
}

func (q queue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q) {
			return
		}
		if child+1 < len(q) && q.less(child+1, child) {
			child++
		}
		if !q.less(child, i) {
			return
		}
		q.swap(i, child)
		i = child
	}
}
