package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker at a release.
var version = ""

// toolVersion is what traces, runs and reports name as their maker.
func toolVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

type versionCmd struct{}

func (versionCmd) Examples() string { return "retrace version" }

// Run prints one line, so that a bug report can hold it.
func (versionCmd) Run(_ context.Context, env Env) error {
	_, err := fmt.Fprintf(env.Out, "retrace %s %s %s/%s\n", toolVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
