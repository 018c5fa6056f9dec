// Package filter is the language in which one says which events are meant, the
// same wherever retrace asks: in trace cat and trace export, in analyze, in
// replay and in capture.
//
//	op:select,insert db:shop took>10ms -table:audit
//
// A filter is words with blanks between them. An event matches if it matches
// all of them; a word with - before it matches what the word without it does not.
//
//	op:        what the event does: the first word of the SQL (select, insert, begin, copy, with …), of each
//	           statement if a message holds several; or the kind of the event as trace cat shows it (query, execute,
//	           fetch, prepare, close, sync, copy, function, connect, cancel, end); or statement, for all statements
//	table:     a table that the SQL names, with its schema or without: orders, public.orders
//	text:      a piece of the SQL as trace cat shows it, with 0 and '' in the place of values
//	fingerprint: the id that analyze -o json gives a statement
//	db: user: app:  of the session: database, user, application_name, as at connect
//	session:   its number
//	ordinal:   the event's number in its session; with session: its name
//	status:    ok, error, skipped, filtered, lost, unsent
//	error:     the SQLSTATE of an error: 40001, 40*; or rolled_back
//	diverged:  in a run, how a statement differs from the recorded one: status, rows, result; * for any of them
//	took>10ms  from the first byte of the request to the last of the reply; > >= < <= = and ns, us, ms, s, m, h
//	rows>1000  rows returned or changed
//	bytes>1MB  bytes of the reply; B, kB, MB, GB, KiB, MiB, GiB
//
// Several values with commas: any of them. A * stands for any characters. In
// double quotes everything stands for itself, but for \" and \\; blanks, commas
// and stars need them.
//
// Case matters in db, user and app, as it does to the server, and nowhere else
// in values. Keys are written as above.
//
// What is not there does not match, so that -WORD matches it: a table of an
// event without SQL, the db of a session whose beginning is not known, the time
// of an event that was not answered. took, rows and bytes are those of events
// with status ok or error; an event whose reply never came is lost, as analyze
// counts it.
//
// Words about the SQL look at every event that has one: at statements, at the
// fetches of their portals and at prepares. An event without SQL (connect,
// close, COPY data, the end of a session …) has its kind and nothing else; a
// prepare is a prepare, whatever it prepares, so op:select means executions only. A filter
// judges each event by itself. Verbs that need more than the events that match
// keep it beside them and say so: a replay keeps connects, transactions and
// prepares, an analysis keeps the fetches of a statement with it.
package filter
