package main

import (
	"context"
	"time"
)

// turn switches recording on or off; by says who asked. Where the server cannot
// be asked for its place in the log as told, recording does not start.
func (r *recording) turn(on bool, by string) (changed bool, err error) {
	r.turning.Lock()
	defer r.turning.Unlock()
	what := "recording is off"
	if on {
		what = "recording is on"
		changed, err = r.start()
	} else {
		changed = r.recorder.Stop()
	}
	switch {
	case err != nil:
		r.talk.say("recording does not start, by %s: %v", by, err)
	case changed && !r.Quiet:
		r.talk.say("%s, by %s", what, by)
	}
	return changed, err
}

func (r *recording) start() (changed bool, err error) {
	if r.recorder.Recorded().On {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	at, err := r.whereNow(ctx)
	if err != nil {
		return false, err
	}
	return r.recorder.Start(at), nil
}

// settled is how long writing must have worked before that is worth saying: a
// full disk takes a little now and then.
const settled = 2 * time.Second

// sayTrouble says when the trace cannot be written, and when it can again, until
// there is nothing more to come.
func (r *recording) sayTrouble(trouble <-chan error) {
	broken := false
	var calm <-chan time.Time
	for {
		select {
		case err, more := <-trouble:
			switch {
			case !more:
				return
			case err == nil:
				calm = time.After(settled)
				continue
			case !broken:
				r.talk.say("NOT RECORDING: %v; traffic goes on", err)
			}
			broken, calm = true, nil
		case <-calm:
			broken, calm = false, nil
			r.talk.say("recording goes on: the trace can be written again")
		}
	}
}
