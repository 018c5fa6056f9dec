package main

import "github.com/retrace-db/retrace/trace/filter"

// whereFlag is a flag that takes a filter. What is wrong with one is a mistake
// on the command line.
type whereFlag struct{ *filter.Filter }

// UnmarshalText parses the flag's value.
func (w *whereFlag) UnmarshalText(text []byte) error {
	f, err := filter.Parse(string(text))
	w.Filter = f
	return err
}
