package analyze

import "slices"

// Warning is something a reader must know before believing the figures. It is
// data: a report prints it as a footnote, a program can branch on its code.
type Warning struct {
	Code string   `json:"code"`
	Runs []string `json:"runs"` // labels
	Text string   `json:"text"`
}

// checks on a run by itself.
var checks = []struct {
	code, text string
	of         func(r *Run) bool
}{
	{"empty", "no statement in the trace", func(r *Run) bool { return r.Statements+r.Unmatched+r.SkippedStart == 0 }},
	{"no_match", "no statement matches the filter", func(r *Run) bool { return r.Statements == 0 && r.Unmatched > 0 }},
	{"all_skipped", "all of its statements are in the beginning that was left out", func(r *Run) bool { return r.Statements == 0 && r.SkippedStart > 0 }},
	{"skip_start", "figures, span and rates are of what came after the beginning that was left out; what queued up in that beginning still counts in response times. Sessions, events, requests and schedule are of the whole trace", func(r *Run) bool { return r.skipped }},
	{"where", "only the statements that match the filter are counted, with their fetches; shares, rates and percentiles are theirs. Sessions, events, requests, span and schedule are of the whole trace", func(r *Run) bool { return r.filtered }},
	{"damaged", "parts could not be read; the figures are of what could", func(r *Run) bool { return len(r.Damage) > 0 }},
	{"mixed", "its files are of different runs, read as one; name them one by one to compare them", func(r *Run) bool { return r.mixed }},
	{"unlike", "the runs of this group are not repetitions of one: source, target, engine, pace or speed differ between them", func(r *Run) bool { return r.unlike }},
	{"incomplete", "not read to a proper end: the recording was cut off or goes on, or reading it was interrupted", func(r *Run) bool { return !r.Complete && len(r.Damage) == 0 }},
	{"gaps", "events were dropped while recording; counts are too low", func(r *Run) bool { return r.Gaps > 0 }},
	{"left_out", "a part of the traffic was left out of the recording on purpose (see trace info): counts are of what was recorded", func(r *Run) bool { return r.LeftOut > 0 }},
	{"not_valid", "the replayer itself was late (p99 over 1 ms and over 5 % of the median service time): response times are not the target's alone", func(r *Run) bool { return r.Valid != nil && !*r.Valid }},
}

// comparisons of a run with the first.
var comparisons = []struct {
	code, text string
	of         func(r, first *Run) bool
}{
	{"different_source", "not the same events as in the first run", func(r, first *Run) bool { return origin(r) != origin(first) }},
	{"different_engine", "another database engine than the first run", func(r, first *Run) bool { return r.Engine != first.Engine }},
	{"different_pace", "another pace than the first run", func(r, first *Run) bool { return bothReplayed(r, first) && value(r.Pace) != value(first.Pace) }},
	{"different_speed", "another speed than the first run", func(r, first *Run) bool { return bothReplayed(r, first) && value(r.Speed) != value(first.Speed) }},
	{"vantage_points", "recorded times were taken at the proxy, replayed ones at the replayer: small differences between the two mean little; compare replays with replays", func(r, first *Run) bool { return (r.Source == nil) != (first.Source == nil) }},
}

func warnings(runs []Run) []Warning {
	all := []Warning{}
	for _, c := range checks {
		all = warn(all, runs, c.code, c.text, c.of)
	}
	if len(runs) == 0 {
		return all
	}
	for _, c := range comparisons {
		all = warn(all, runs[1:], c.code, c.text, func(r *Run) bool { return c.of(r, &runs[0]) })
	}
	return all
}

func warn(all []Warning, runs []Run, code, text string, concerns func(*Run) bool) []Warning {
	var labels []string
	for i := range runs {
		if concerns(&runs[i]) {
			labels = append(labels, runs[i].Label)
		}
	}
	if len(labels) == 0 {
		return all
	}
	return append(slices.Clip(all), Warning{code, labels, text})
}

// origin is the identity of the trace whose events a run holds.
func origin(r *Run) string {
	if r.Source != nil {
		return *r.Source
	}
	return r.Trace
}

func bothReplayed(a, b *Run) bool { return a.Source != nil && b.Source != nil }

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
