package replay

// heaped is an element of a heap: it knows which of two comes first, and is told
// its place, -1 when it is taken out.
type heaped[T any] interface {
	before(T) bool
	place(int)
}

// heap is a priority queue without an interface call or an allocation per step.
type heap[T heaped[T]] []T

func (h *heap[T]) push(x T) {
	*h = append(*h, x)
	x.place(len(*h) - 1)
	h.up(len(*h) - 1)
}

// remove takes out the element at a place.
func (h *heap[T]) remove(i int) T {
	var zero T
	last := len(*h) - 1
	x := (*h)[i]
	h.swap(i, last)
	(*h)[last] = zero
	*h = (*h)[:last]
	if i < last {
		h.down(i)
		h.up(i)
	}
	x.place(-1)
	return x
}

func (h heap[T]) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place(i)
	h[j].place(j)
}

func (h heap[T]) up(i int) {
	for i > 0 && h[i].before(h[(i-1)/2]) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h heap[T]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(h[i]) {
			return
		}
		h.swap(i, child)
		i = child
	}
}
