// Package sqltext reads SQL as far as a recorder must: it finds the literals
// and comments of a PostgreSQL text, tells whether the text may hold a secret,
// and names the few statements that change what a session has prepared.
//
// It is no parser. It follows the server's lexer (scan.l) closely enough that
// a literal is never taken for an identifier or the other way round, runs in
// one pass and in linear time over any bytes (invalid UTF-8, NUL, unterminated
// quotes), and allocates nothing.
package sqltext
