// Package dbtest runs real database servers for tests, the demo and the bench:
// each in a temporary folder, on 127.0.0.1 only, as an unprivileged user, and
// gone when the test ends, however it ends.
package dbtest
