package analyze

import (
	"cmp"
	"slices"
)

// Verdicts need single latencies, and of two runs those of the same statements.
// So of each fingerprint a run keeps the statements whose names have the smallest
// hashes: any two runs keep the same ones, without knowing of each other, and
// which ones has nothing to do with how long they took.
const (
	keepEach = 4096       // statements of a fingerprint
	keepAll  = 1 << 22    // statements of a run: over it, a fingerprint gets half
	keepTick = 10_000_000 // ns
)

// sample is one of them, sixteen bytes.
type sample struct {
	key  uint64  // hash of the statement's name
	at   int32   // start, in ticks since the first event that was read
	took float32 // service time in nanoseconds
}

// keeping is what the sketches of one run share.
type keeping struct {
	each, all int
	held      int // what they hold at most
}

// sketch holds the samples of one fingerprint, up to half more than it may
// between two sorts.
type sketch struct {
	samples []sample
	seen    int
	bound   uint64 // keys from here on are too large; 0: none is
}

// add reports whether the run's sketches have become too large together.
func (s *sketch) add(k *keeping, v sample) bool {
	if s.seen < k.each {
		k.held++
	}
	s.seen++
	if s.bound != 0 && v.key >= s.bound {
		return false
	}
	s.samples = append(s.samples, v)
	if len(s.samples) >= k.each+k.each/2 {
		s.trim(k.each)
	}
	return k.held > k.all
}

// trim sorts the samples by key and keeps the first ones.
func (s *sketch) trim(each int) {
	slices.SortFunc(s.samples, func(a, b sample) int { return cmp.Compare(a.key, b.key) })
	if len(s.samples) > each {
		s.bound = s.samples[each].key
		s.samples = s.samples[:each]
	}
}

// finish gives back what was for growth.
func (s *sketch) finish(each int) {
	s.trim(each)
	if len(s.samples) < cap(s.samples)*7/8 {
		s.samples = append(make([]sample, 0, len(s.samples)), s.samples...)
	}
}

// halve makes room: half as many of each fingerprint.
func (k *keeping) halve(all []*sketch) {
	k.each, k.held = k.each/2, 0
	for _, s := range all {
		if len(s.samples) > k.each {
			s.finish(k.each)
		}
		k.held += min(s.seen, k.each)
	}
}

// together calls pair with the samples of the same statement; both sketches are
// sorted.
func together(a, b *sketch, pair func(a, b *sample)) {
	for i, j := 0, 0; i < len(a.samples) && j < len(b.samples); {
		switch x, y := &a.samples[i], &b.samples[j]; {
		case x.key < y.key:
			i++
		case x.key > y.key:
			j++
		default:
			pair(x, y)
			i, j = i+1, j+1
		}
	}
}

// mix spreads 64 bits (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
