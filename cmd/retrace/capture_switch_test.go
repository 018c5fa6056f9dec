package main

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A disk that is nearly full takes a block now and then: it is said once.
func TestTroubleIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := &recording{talk: &talk{to: &out}}
		trouble := make(chan error)
		done := make(chan struct{})
		go func() { r.sayTrouble(trouble); close(done) }()
		full := errors.New("disk full")
		for range 3 {
			trouble <- full
			time.Sleep(time.Second)
			trouble <- nil
			time.Sleep(settled - time.Millisecond)
		}
		trouble <- full
		trouble <- nil
		time.Sleep(settled + time.Millisecond)
		trouble <- full
		close(trouble)
		<-done
		want := "capture: NOT RECORDING: disk full; traffic goes on\ncapture: recording goes on: the trace can be written again\n" +
			"capture: NOT RECORDING: disk full; traffic goes on\n"
		if out.String() != want {
			t.Errorf("said\n%s", out.String())
		}
	})
}
