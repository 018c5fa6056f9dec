// Package aggregate reads what other tools report of runs of their own: pgbench,
// sysbench, YCSB, yb-sample-apps and the table of MaibornWolff's benchmark. Such
// a run has figures and no events, so it can stand beside traces and cannot be
// compared with them: what it lacks is said in its marks.
//
// A tool is told by the content of its output, never by a name. Each has a file
// of its own with a parser of lines; read.go finds the one to ask.
package aggregate
