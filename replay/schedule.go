package replay

import "math"

// schedule turns recorded times into the times of this replay.
type schedule struct {
	origin int64 // recorded time of the first event
	base   int64 // when it is due
	speed  float64
}

// due is when what was recorded at start is due. Times beyond what an int64
// holds, as speeds near zero make them, are the last there is.
func (s *schedule) due(start int64) int64 {
	offset := start - s.origin
	if s.speed != 1 {
		scaled := float64(offset) / s.speed
		switch {
		case scaled >= math.MaxInt64:
			offset = math.MaxInt64
		case scaled <= math.MinInt64:
			offset = math.MinInt64
		default:
			offset = int64(scaled)
		}
	}
	return addClamped(s.base, offset)
}

// recorded is the reverse of due: how far in the trace the replay is at now.
func (s *schedule) recorded(now int64) int64 {
	scaled := float64(now-s.base) * s.speed
	if scaled >= math.MaxInt64 {
		return math.MaxInt64
	}
	if scaled <= math.MinInt64 {
		return math.MinInt64
	}
	return addClamped(s.origin, int64(scaled))
}

func addClamped(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}
