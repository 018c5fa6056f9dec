package main

// traceCmd holds the verbs that look at a trace.
type traceCmd struct {
	Info   traceInfoCmd   `cmd:"" help:"Say what a trace holds."`
	Cat    traceCatCmd    `cmd:"" help:"Print its events, one per line."`
	Verify traceVerifyCmd `cmd:"" help:"Read all of it and say what is damaged."`
	Diff   traceDiffCmd   `cmd:"" help:"Say whether two traces hold the same requests."`
}

func (*traceCmd) Examples() string {
	return `retrace trace info monday.trace
retrace trace cat monday.trace | less
retrace trace verify monday.trace.part
retrace trace diff monday.trace again.trace`
}
