//go:build !unix

package main

// obeySignals has nothing to obey where there are no such signals.
func (r *recording) obeySignals(<-chan struct{}) {}
