// Package replay sends the requests of a trace to another server as they were
// recorded, byte for byte, and measures what comes back with the code that
// recorded them.
//
// One captured session is one connection for its whole life and one goroutine,
// which reads and writes by itself: nothing is handed over per message. A
// single reader goes through the trace once and feeds the sessions' queues;
// what a slow session has not consumed goes to a spill file, so that memory
// depends on the number of sessions and not on the length of the trace.
//
// Every event that was read ends in exactly one class: ok, error, skipped,
// filtered, lost or unsent. Each is counted where it happens, and the sums are
// checked against what was read, per session and in total.
package replay
