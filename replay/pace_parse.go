package replay

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// perSecond is how many seconds a unit of a rate has.
var perSecond = map[string]float64{"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}

// ParsePace reads a pace as it stands on a command line: original, think, closed,
// or a rate of requests such as rate=500/s, rate=500 or rate=30/min.
func ParsePace(text string) (name string, rate float64, err error) {
	switch text {
	case PaceOriginal, PaceThink, PaceClosed:
		return text, 0, nil
	}
	number, ok := strings.CutPrefix(text, PaceRate+"=")
	if !ok {
		return "", 0, fmt.Errorf("unknown pace %q: there are original, think, closed and rate=N/s", text)
	}
	number, unit, slash := strings.Cut(number, "/")
	seconds, known := perSecond[unit]
	if !known || slash && unit == "" || strings.ContainsAny(number, "xX_") {
		return "", 0, fmt.Errorf("%q is not a rate such as rate=500/s or rate=30/min", text)
	}
	n, err := strconv.ParseFloat(number, 64)
	if rate = n / seconds; err != nil || !(rate > 0) || math.IsInf(rate, 0) {
		return "", 0, fmt.Errorf("%q is not a rate such as rate=500/s or rate=30/min", text)
	}
	return PaceRate, rate, nil
}
