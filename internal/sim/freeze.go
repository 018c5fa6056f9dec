package sim

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Freeze is a time in which the server stands still: no work is done and no
// answer leaves. It is counted from the first statement.
type Freeze struct {
	For, At time.Duration
	Every   time.Duration // 0: once
}

// UnmarshalText reads FOR@AT or FOR@AT/EVERY.
func (f *Freeze) UnmarshalText(b []byte) error {
	length, rest, ok := strings.Cut(string(b), "@")
	at, every, repeated := strings.Cut(rest, "/")
	if !ok {
		return fmt.Errorf("%q is not a freeze such as 2s@10s, or 2s@10s/30s", b)
	}
	var err error
	if f.For, err = parseDuration(length); err != nil {
		return err
	}
	if f.At, err = parseDuration(at); err != nil {
		return err
	}
	if !repeated {
		return nil
	}
	if f.Every, err = parseDuration(every); err != nil {
		return err
	}
	if f.Every < f.For+time.Millisecond {
		return fmt.Errorf("%q: a freeze of %s every %s leaves no time between", b, f.For, f.Every)
	}
	return nil
}

func (f Freeze) String() string {
	if f.Every == 0 {
		return fmt.Sprintf("%s@%s", f.For, f.At)
	}
	return fmt.Sprintf("%s@%s/%s", f.For, f.At, f.Every)
}

// next is the first time of standing still that is not over at t.
func (f Freeze) next(t time.Duration) (from, to time.Duration) {
	from = f.At
	if f.Every > 0 && t >= from+f.For {
		from += (t - f.At) / f.Every * f.Every
		if t >= from+f.For {
			from += f.Every
		}
	}
	if to = from + f.For; to <= t {
		return math.MaxInt64, math.MaxInt64
	}
	return from, to
}

// end is when work is done that begins at start: it rests while time stands
// still. Two kinds of freezes could leave no time at all: so there is one.
func (f Freeze) end(start, work time.Duration) time.Duration {
	for {
		from, to := f.next(start)
		if start+work < from {
			return start + work
		}
		work -= max(from-start, 0)
		start = to
	}
}
