// Package analyze turns traces into figures: what each statement cost, in one
// trace or side by side in several. It reads a trace once, front to back, keeps
// memory by the number of fingerprints, and knows no protocol: the trace's
// dictionary carries the SQL.
//
// The steps, one file each: index finds the row of an event without doing that
// twice, collect times the events, skip leaves out a cold start, figures holds what
// is counted, sketch what is kept of single statements, group makes one of repeated
// runs, report makes the result, compare and verdict say what it means, text draws
// it.
package analyze
