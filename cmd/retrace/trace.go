package main

// traceCmd holds the verbs that look at a trace and make others of it.
type traceCmd struct {
	Info   traceInfoCmd   `cmd:"" help:"Say what a trace holds."`
	Cat    traceCatCmd    `cmd:"" help:"Print its events, one per line."`
	Verify traceVerifyCmd `cmd:"" help:"Read all of it and say what is damaged."`
	Diff   traceDiffCmd   `cmd:"" help:"Say whether two traces hold the same requests."`
	Export traceExportCmd `cmd:"" help:"Write its events in another form."`
	Cut    traceCutCmd    `cmd:"" help:"Take a part of a trace: a stretch of time, or some sessions."`
	Join   traceJoinCmd   `cmd:"" help:"Make one trace of several."`
	Redact traceRedactCmd `cmd:"" help:"Take the values out of a trace, or put pseudonyms in their place."`
	Repair traceRepairCmd `cmd:"" help:"Make a whole trace of what can be read of a broken one."`
}

func (*traceCmd) Examples() string {
	return `retrace trace info monday.trace
retrace trace cat monday.trace | less
retrace trace verify monday.trace.part
retrace trace diff monday.trace again.trace
retrace trace export jsonl monday.trace > monday.jsonl
retrace trace cut monday.trace --from 10m --to 12m -w part.trace
retrace trace join monday/ -w monday.trace
retrace trace redact monday.trace --mode hash -w public.trace
retrace trace repair monday.trace.part -w repaired.trace`
}
