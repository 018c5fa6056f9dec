package analyze

import (
	"cmp"
	"slices"
)

// maxWorst is how many of the slowest executions of a fingerprint are named.
const maxWorst = 5

// Execution is one statement by its name, with its service time.
type Execution struct {
	Session   uint64  `json:"session"`
	Ordinal   uint64  `json:"ordinal"`
	ServiceUS float64 `json:"service_us"`
}

// worst are the slowest executions, the slowest first. Of equal ones the one
// that was sent by the lower session and ordinal stands: the order in which
// sessions interleave must not matter.
type worst struct{ all []Execution }

func (w *worst) add(t *timing) {
	us := micros(t.service)
	if n := len(w.all); n == maxWorst && us < w.all[n-1].ServiceUS {
		return
	}
	e := Execution{t.session, t.ordinal, us}
	i, _ := slices.BinarySearchFunc(w.all, e, slowerFirst)
	if i == maxWorst {
		return
	}
	if len(w.all) == maxWorst {
		w.all = w.all[:maxWorst-1]
	}
	w.all = slices.Insert(w.all, i, e)
}

func slowerFirst(a, b Execution) int {
	return cmp.Or(cmp.Compare(b.ServiceUS, a.ServiceUS), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Ordinal, b.Ordinal))
}
