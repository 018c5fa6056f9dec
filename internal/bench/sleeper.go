package main

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper is the rival at being punctual: a locked thread that sleeps until one
// moment after the other, 1,000 a second at random, while the replay that it is
// compared with runs. What it is late by this machine does to everybody.
type sleeper struct {
	over chan struct{}
	late chan series // µs
}

func startSleeper() *sleeper {
	s := &sleeper{over: make(chan struct{}), late: make(chan series, 1)}
	go s.run()
	return s
}

func (s *sleeper) run() {
	runtime.LockOSThread()
	var late series
	due := time.Now()
	for {
		due = due.Add(time.Duration(rand.ExpFloat64() * float64(time.Millisecond)))
		if left := time.Until(due); left > 0 {
			spec := unix.NsecToTimespec(int64(left))
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &spec, nil)
			late = append(late, float64(time.Since(due).Nanoseconds())/1e3)
		}
		select {
		case <-s.over:
			s.late <- late
			return
		default:
		}
	}
}

// stop tells the 99th percentile of how late it was, in µs.
func (s *sleeper) stop() float64 {
	close(s.over)
	late := <-s.late
	if len(late) == 0 {
		return 0
	}
	slices.Sort(late)
	return late[len(late)*99/100]
}
