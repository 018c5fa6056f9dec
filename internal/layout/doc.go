// Package layout holds no code, only the tests that keep the arrows between
// the packages as ARCHITECTURE.md draws them.
package layout
