// Package sim is a simulated PostgreSQL server whose truth is known: how long
// each statement takes, which fail and when everything stands still is drawn
// from a seed, and what really left its socket is measured beside what was
// meant to. So a tool that measures can be held against it.
//
// It speaks the simple and the extended protocol, remembers what is written by
// key, and answers what it does not understand with fixed rows. What it
// understands of SQL is written down at Statement.
package sim
