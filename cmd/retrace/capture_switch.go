package main

import "time"

// turn switches recording on or off; by says who asked.
func (r *recording) turn(on bool, by string) (changed bool) {
	what, do := "recording is off", r.recorder.Stop
	if on {
		what, do = "recording is on", r.recorder.Start
	}
	if changed = do(); changed && !r.Quiet {
		r.talk.say("%s, by %s", what, by)
	}
	return changed
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
