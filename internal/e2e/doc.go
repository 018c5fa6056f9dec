// Package e2e holds no code, only tests that run the built program against
// real servers and real clients, as a person would.
package e2e
