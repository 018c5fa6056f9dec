//go:build unix

package capture

import "golang.org/x/sys/unix"

// connsAllowed is how many connections the limit of open files leaves room for,
// two descriptors each, after raising it as far as it goes. (Go has raised the
// soft limit already; as root the hard one can go further.)
func connsAllowed() int {
	const wanted, spare = 65536, 64
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1000
	}
	if l.Max < wanted {
		more := unix.Rlimit{Cur: wanted, Max: wanted}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &more) == nil {
			l = more
		}
	} else if l.Cur < l.Max {
		more := unix.Rlimit{Cur: l.Max, Max: l.Max}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &more) == nil {
			l = more
		}
	}
	n := int64(l.Cur)
	if n < 0 || n > wanted { // below zero: no limit
		n = wanted
	}
	return int(max(n-spare, 2) / 2)
}
