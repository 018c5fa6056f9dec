package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/retrace-db/retrace/trace"
)

// subject is one trace to be analyzed: its files, and what it is called if that
// was said.
type subject struct {
	label string
	paths []string
}

// subjects are the traces that the arguments name. A directory that holds
// several, as a series of replays leaves them, stands for each of them.
func subjects(args []string) []subject {
	var all []subject
	for _, arg := range args {
		label, path := labelled(arg)
		found := tracesIn(path)
		if len(found) < 2 {
			found = [][]string{{path}}
		}
		for _, paths := range found {
			all = append(all, subject{label, paths})
		}
	}
	return all
}

// tracesIn groups the files of a directory by the trace they belong to, the one
// that was begun first in front: it is the baseline. What cannot be read is left
// to who reads the directory as one trace, and says what is wrong.
func tracesIn(dir string) [][]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	type group struct {
		started string
		paths   []string
	}
	byTrace := map[string]*group{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		h := headerOf(path)
		switch {
		case !e.Type().IsRegular() || h == nil:
			continue
		case byTrace[h.Trace] == nil:
			byTrace[h.Trace] = &group{started: h.Started}
		}
		g := byTrace[h.Trace]
		g.started, g.paths = min(g.started, h.Started), append(g.paths, path)
	}
	groups := make([]*group, 0, len(byTrace))
	for _, g := range byTrace {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.started, b.started), slices.Compare(a.paths, b.paths))
	})
	all := make([][]string, len(groups))
	for i, g := range groups {
		all[i] = g.paths
	}
	return all
}

// headerOf is the header of a trace's file, or nil.
func headerOf(path string) *trace.Header {
	r, err := trace.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }() // was only read
	return r.Header()
}
