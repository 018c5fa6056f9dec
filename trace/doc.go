// Package trace is the one thing the verbs of retrace exchange: a file, a pipe
// or a directory of files that says which requests were made, when, and what
// came of each. Capture writes one, replay reads one and writes another,
// analyze reads any number of them.
//
// FORMAT.md beside this file is the normative description of the bytes. The
// package knows no database protocol: requests are bytes, shapes and values.
package trace
