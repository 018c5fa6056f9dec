package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrace-db/retrace/trace"
)

// subject is what stands in a column of its own: a trace, or a group of runs
// that repeat one another. Its label is empty where none was given.
type subject struct {
	label string
	runs  [][]string // the files of each
	group bool
}

// subjects are what the arguments name. A directory that holds several traces,
// as a series of replays leaves them, stands for each of them; with a label, with
// commas or as a pattern it is a group.
func subjects(args []string) []subject {
	var all []subject
	for _, arg := range args {
		label, path := labelled(arg)
		pieces := pieces(path)
		var runs [][]string
		for _, p := range pieces {
			if found := tracesIn(p); len(found) > 1 {
				runs = append(runs, found...)
				continue
			}
			runs = append(runs, []string{p})
		}
		if len(runs) > 1 && (label != "" || len(pieces) > 1) {
			all = append(all, subject{label, runs, true})
			continue
		}
		for _, paths := range runs {
			all = append(all, subject{label, [][]string{paths}, false})
		}
	}
	return all
}

// pieces are the paths of a group: A,B or a pattern such as runs/old-*.run. What
// is there under the whole name is no list.
func pieces(path string) []string {
	if _, err := os.Stat(path); err == nil {
		return []string{path}
	}
	var all []string
	for piece := range strings.SplitSeq(path, ",") {
		if _, err := os.Stat(piece); err != nil {
			if found, _ := filepath.Glob(piece); len(found) > 0 { // a bad pattern is a file that is not there
				all = append(all, found...)
				continue
			}
		}
		all = append(all, piece)
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
