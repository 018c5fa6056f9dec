package sim

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
)

// schedule draws what happens to each statement. What a rule draws for its
// n-th statement depends on the seed, the rule and n alone, so that however
// sessions interleave the same number of statements meets the same times and
// the same number of errors.
type schedule struct {
	seed      uint64
	latencies []*latencyRule // those with a match, then the one for all others
	faults    []*faultRule
	drops     dropRule
}

type latencyRule struct {
	Latency
	n atomic.Uint64
}

// faultRule holds the faults of the same statements: they exclude each other.
type faultRule struct {
	match  match
	faults []Fault
	n      atomic.Uint64
}

type dropRule struct {
	share float64
	n     atomic.Uint64
}

func newSchedule(seed uint64, latencies []Latency, faults []Fault, drop float64) *schedule {
	s := &schedule{seed: seed, drops: dropRule{share: drop}}
	others := Latency{D: constant{}}
	for _, l := range latencies {
		if l.match == "" {
			others = l
			continue
		}
		s.latencies = append(s.latencies, &latencyRule{Latency: l})
	}
	s.latencies = append(s.latencies, &latencyRule{Latency: others})
	for _, f := range faults {
		s.faultRule(f.match).faults = append(s.faultRule(f.match).faults, f)
	}
	return s
}

func (s *schedule) faultRule(m match) *faultRule {
	for _, r := range s.faults {
		if r.match == m {
			return r
		}
	}
	r := &faultRule{match: m}
	s.faults = append(s.faults, r)
	return r
}

// fate is what a statement meets.
type fate struct {
	rule int // of the latencies
	work time.Duration
	code string // it fails with this, if not empty
	drop bool   // the connection breaks in the middle of its answer
}

// draw is for a statement that may fail, or one that may not.
func (s *schedule) draw(d *dice, text string, mayFail bool) fate {
	lower := strings.ToLower(text)
	var f fate
	for i, r := range s.latencies {
		if r.match.holds(lower) {
			f.rule, f.work = i, r.D.Draw(d.roll(s.seed, uint64(i), r.n.Add(1)))
			break
		}
	}
	for i, r := range s.faults {
		if mayFail && f.code == "" && r.match.holds(lower) {
			f.code = r.draw(d.roll(s.seed, 1<<32+uint64(i), r.n.Add(1)).Float64())
		}
	}
	if s.drops.share > 0 {
		f.drop = d.roll(s.seed, 1<<33, s.drops.n.Add(1)).Float64() < s.drops.share
	}
	return f
}

func (r *faultRule) draw(u float64) string {
	for _, f := range r.faults {
		if u < f.Share {
			return f.Code
		}
		u -= f.Share
	}
	return ""
}

// dice is one session's generator, set anew for every draw.
type dice struct {
	pcg  rand.PCG
	rand *rand.Rand
}

func newDice() *dice {
	d := &dice{}
	d.rand = rand.New(&d.pcg)
	return d
}

func (d *dice) roll(seed, stream, n uint64) *rand.Rand {
	d.pcg.Seed(scatter(seed+scatter(stream)), scatter(n))
	return d.rand
}

// scatter is the mix of splitmix64: neighbours in, strangers out.
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
