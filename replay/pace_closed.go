package replay

import "time"

// closedPace sends each request as soon as its session is free.
type closedPace struct{}

func (closedPace) name() string                { return PaceClosed }
func (closedPace) scheduled() bool             { return false }
func (closedPace) follows() bool               { return true }
func (closedPace) merges() bool                { return false }
func (closedPace) stamp(*moment) int64         { return 0 }
func (closedPace) due(*session, *record) int64 { return 0 }

// rest lets the reader read while a session is short of records, or might begin
// if more were known.
func (closedPace) rest(src *source) time.Duration {
	more, waiting := src.p.gate.undecided()
	if waiting >= maxWaiting {
		return crawl
	}
	return src.unless(more || src.hungry.Load() > 0 || src.queued.Load() < src.prefetch)
}
