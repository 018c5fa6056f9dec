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
	return addClamped(s.base, s.scaled(addClamped(start, -s.origin)))
}

// scaled is how much of the replay a recorded stretch takes.
func (s *schedule) scaled(recorded int64) int64 {
	if s.speed == 1 {
		return recorded
	}
	return clamped(float64(recorded) / s.speed)
}

// recorded is the reverse of due: how far in the trace the replay is at now.
func (s *schedule) recorded(now int64) int64 {
	return addClamped(s.origin, clamped(float64(now-s.base)*s.speed))
}

// leadOf is how far a recorded time is ahead of the recorded time that has passed
// at now.
func (s *schedule) leadOf(recorded, now int64) int64 {
	return addClamped(recorded, -clamped(float64(addClamped(now, -s.base))*s.speed))
}

func clamped(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
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
