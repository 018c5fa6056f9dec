package analyze

import (
	"fmt"
	"math"
	"strconv"
)

// How numbers stand in text: three digits, a unit, and columns that stay narrow.

// Duration writes microseconds.
func Duration(us float64) string {
	switch {
	case us <= 0:
		return "0"
	case us < 1:
		return fmt.Sprintf("%.0fns", us*1e3)
	case us < 1e3:
		return three(us) + "µs"
	case us < 1e6:
		return three(us/1e3) + "ms"
	case us < 120e6:
		return three(us/1e6) + "s"
	case us < 7200e6:
		return fmt.Sprintf("%.1fmin", us/60e6)
	default:
		return fmt.Sprintf("%.1fh", us/3600e6)
	}
}

func three(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// number writes a count with thousands apart.
func number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func rate(perS *float64) string {
	if perS == nil {
		return "-"
	}
	if *perS >= 100 {
		return number(uint64(math.Round(*perS)))
	}
	return three(*perS)
}

func share(pct *float64) string {
	if pct == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", *pct)
}

// change writes a change in percent: as a factor where percents are hard to grasp.
func change(pct float64) string {
	switch {
	case pct > 200:
		return "×" + three(1+pct/100)
	case pct > -0.05 && pct < 0.05:
		return "±0.0%"
	default:
		return fmt.Sprintf("%+.1f%%", pct)
	}
}

func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}
