// Package pg understands the PostgreSQL frontend/backend protocol as far as a
// recorder and a replayer need it: where messages begin and end, which of the
// client's messages form one event, which of the server's messages answer
// which event, what a statement's name stands for at the server at that
// moment, and which bytes of a request are values. It forwards nothing and
// opens no connection: it is fed copies of the bytes of both directions and
// calls a Sink.
//
// Nothing in it trusts a number from the wire: bodies that are of no interest
// are skipped, what is kept is bounded by constants and by Options.Limit.
package pg
