package analyze

import "math/bits"

// A run over time, for pictures: how many statements ended well and how many
// not, and how long they took, by the time they were sent. Memory is bounded:
// a run that outgrows maxBuckets is kept half as finely.
const (
	maxBuckets    = 600
	finestBucket  = 100_000_000 // ns
	coarseDigits  = 4           // bits of a duration that are kept beside its magnitude: 3 %
	coarseLow     = 10          // log2 of the shortest duration told apart: a microsecond
	coarseHigh    = 42          // and of the longest: over an hour
	coarseClasses = (coarseHigh-coarseLow)<<coarseDigits + 1
)

type series struct {
	width   int64 // ns, finestBucket times a power of two
	first   int64 // number of the first bucket, counted from the epoch
	buckets []*bucket
}

type bucket struct {
	ok, failed uint64
	took       [coarseClasses]uint32
}

// at finds the bucket of a time. It gives up precision before it takes more memory.
func (s *series) at(ns int64) *bucket {
	if s.width == 0 {
		s.width = finestBucket
	}
	n := floorDiv(ns, s.width)
	if len(s.buckets) == 0 {
		s.first = n
	}
	for max(n, s.first+int64(len(s.buckets))-1)-min(n, s.first) >= maxBuckets {
		s.halve()
		n = floorDiv(ns, s.width)
	}
	if n < s.first { // sessions come one after the other, each from its own start
		s.buckets = append(make([]*bucket, s.first-n, maxBuckets), s.buckets...)
		s.first = n
	}
	for n-s.first >= int64(len(s.buckets)) {
		s.buckets = append(s.buckets, nil)
	}
	b := &s.buckets[n-s.first]
	if *b == nil {
		*b = &bucket{}
	}
	return *b
}

// halve makes one bucket of two.
func (s *series) halve() {
	half := series{width: 2 * s.width, first: floorDiv(s.first, 2)}
	for i, b := range s.buckets {
		if b == nil {
			continue
		}
		n := floorDiv(s.first+int64(i), 2) - half.first
		for n >= int64(len(half.buckets)) {
			half.buckets = append(half.buckets, nil)
		}
		if half.buckets[n] == nil {
			half.buckets[n] = b
			continue
		}
		half.buckets[n].add(b)
	}
	*s = half
}

// coarser is the series in buckets of at least the width.
func (s *series) coarser(width int64) *series {
	out := &series{width: s.width, first: s.first}
	for _, b := range s.buckets {
		if b != nil {
			b = new(*b)
		}
		out.buckets = append(out.buckets, b)
	}
	for out.width > 0 && out.width < width {
		out.halve()
	}
	return out
}

func (b *bucket) add(o *bucket) {
	b.ok += o.ok
	b.failed += o.failed
	for i, n := range o.took {
		b.took[i] += n
	}
}

func (b *bucket) record(ns int64) {
	b.ok++
	b.took[coarse(ns)]++
}

// quantile is the middle of the class that holds the sample of that rank.
func (b *bucket) quantile(pct float64) (ns float64, ok bool) {
	rank, seen := max(uint64(pct*float64(b.ok)/100+0.5), 1), uint64(0)
	for class, n := range b.took {
		if seen += uint64(n); seen >= rank {
			return middle(class), true
		}
	}
	return 0, false
}

// coarse is the class of a duration: sixteen to each power of two.
func coarse(ns int64) int {
	if ns < 1<<coarseLow {
		return 0
	}
	magnitude := bits.Len64(uint64(ns)) - 1
	if magnitude >= coarseHigh {
		return coarseClasses - 1
	}
	return 1 + (magnitude-coarseLow)<<coarseDigits + int(ns>>(magnitude-coarseDigits))&(1<<coarseDigits-1)
}

func middle(class int) float64 {
	if class == 0 {
		return 1 << (coarseLow - 1)
	}
	magnitude, rest := (class-1)>>coarseDigits+coarseLow, (class-1)&(1<<coarseDigits-1)
	step := float64(int64(1) << (magnitude - coarseDigits))
	return step * (float64(rest) + 1<<coarseDigits + 0.5)
}

// floorDiv rounds down on both sides of zero. d is positive.
func floorDiv(n, d int64) int64 {
	q := n / d
	if n%d < 0 {
		q--
	}
	return q
}

// total of the statements in a series.
func (s *series) total() (n uint64) {
	for _, b := range s.buckets {
		if b != nil {
			n += b.ok + b.failed
		}
	}
	return n
}
