package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// longest bounds what a distribution can draw.
const longest = 24 * time.Hour

// Distribution is how long a statement takes.
type Distribution interface {
	Draw(r *rand.Rand) time.Duration
	fmt.Stringer // as it is written on the command line
}

type constant struct{ d time.Duration }

func (c constant) Draw(*rand.Rand) time.Duration { return c.d }
func (c constant) String() string                { return fmt.Sprintf("const(%s)", c.d) }

type uniform struct{ from, to time.Duration }

func (u uniform) Draw(r *rand.Rand) time.Duration {
	return bounded(float64(u.from) + r.Float64()*float64(u.to-u.from))
}
func (u uniform) String() string { return fmt.Sprintf("uniform(%s,%s)", u.from, u.to) }

type exponential struct{ mean time.Duration }

func (e exponential) Draw(r *rand.Rand) time.Duration {
	return bounded(r.ExpFloat64() * float64(e.mean))
}
func (e exponential) String() string { return fmt.Sprintf("exp(%s)", e.mean) }

// normal is cut off at 0.
type normal struct{ mean, sd time.Duration }

func (n normal) Draw(r *rand.Rand) time.Duration {
	return bounded(float64(n.mean) + r.NormFloat64()*float64(n.sd))
}
func (n normal) String() string { return fmt.Sprintf("normal(%s,%s)", n.mean, n.sd) }

type lognormal struct {
	median time.Duration
	sigma  float64
}

func (l lognormal) Draw(r *rand.Rand) time.Duration {
	return bounded(float64(l.median) * math.Exp(l.sigma*r.NormFloat64()))
}
func (l lognormal) String() string { return fmt.Sprintf("lognormal(%s,%g)", l.median, l.sigma) }

type pareto struct {
	least time.Duration
	alpha float64
}

func (p pareto) Draw(r *rand.Rand) time.Duration {
	return bounded(float64(p.least) / math.Pow(1-r.Float64(), 1/p.alpha))
}
func (p pareto) String() string { return fmt.Sprintf("pareto(%s,%g)", p.least, p.alpha) }

// mixture takes each of its parts with the share that is its own.
type mixture []part

type part struct {
	share float64 // of 1
	d     Distribution
	rest  bool // the share is what the others leave
}

func (m mixture) Draw(r *rand.Rand) time.Duration {
	u := r.Float64()
	for _, p := range m[:len(m)-1] {
		if u < p.share {
			return p.d.Draw(r)
		}
		u -= p.share
	}
	return m[len(m)-1].d.Draw(r)
}

func (m mixture) String() string {
	text := ""
	for i, p := range m {
		if i > 0 {
			text += "+"
		}
		if !p.rest {
			text += fmt.Sprintf("%g%%:", p.share*100)
		}
		text += p.d.String()
	}
	return text
}

func bounded(ns float64) time.Duration {
	return time.Duration(min(max(ns, 0), float64(longest)))
}
