//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// obeySignals switches recording by signals until over is closed.
func (r *recording) obeySignals(over <-chan struct{}) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGUSR1 {
				_, _ = r.turn(true, "SIGUSR1") // says it itself
			} else {
				_, _ = r.turn(false, "SIGUSR2")
			}
		case <-over:
			return
		}
	}
}
