package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/retrace-db/retrace/capture"
	"github.com/retrace-db/retrace/trace"
)

// restoreFlag is --restore-point, with a name or without.
type restoreFlag struct {
	wanted bool
	name   string
}

// IsBool lets the flag stand without a value.
func (restoreFlag) IsBool() bool { return true }

// Decode reads --restore-point or --restore-point=NAME.
func (f *restoreFlag) Decode(ctx *kong.DecodeContext) error {
	f.wanted = true
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		f.name = fmt.Sprint(ctx.Scan.Pop().Value)
		if n := len(f.name); n == 0 || n >= maxPointName {
			return fmt.Errorf("the name of a restore point has 1 to %d bytes", maxPointName-1)
		}
	}
	return nil
}

// maxPointName is the server's, with room for the number of a later start.
const maxPointName = 64 - 8

// restoreTimeout bounds the asking for where the server is.
const restoreTimeout = 15 * time.Second

// restore follows the places at which recording was switched on.
type restore struct {
	first  *trace.Restore // of a recording that does not begin paused
	starts int
}

// checkRestore says early, before anything is recorded, if the server cannot be
// asked what will be asked.
func (r *recording) checkRestore(ctx context.Context) error {
	if !r.RestorePoint.wanted {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, restoreTimeout)
	defer cancel()
	if err := capture.CheckRestorePoint(ctx, r.target.Target, r.RestorePoint.name); err != nil {
		return fmt.Errorf("--restore-point: %w", err)
	}
	return nil
}

// firstRestore notes the place of a recording that begins at once.
func (r *recording) firstRestore(ctx context.Context) (err error) {
	if r.Paused {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, restoreTimeout)
	defer cancel()
	r.restore.first, err = r.whereNow(ctx)
	return err
}

// whereNow asks where the server is, if that is wanted. Restore points of later
// starts are numbered: of two with one name a server stops at the first.
func (r *recording) whereNow(ctx context.Context) (*trace.Restore, error) {
	if !r.RestorePoint.wanted {
		return nil, nil
	}
	name := r.RestorePoint.name
	if r.restore.starts++; name != "" && r.restore.starts > 1 {
		name = fmt.Sprintf("%s.%d", name, r.restore.starts)
	}
	at, err := capture.RestorePoint(ctx, r.target.Target, name)
	if err != nil {
		return nil, fmt.Errorf("--restore-point: %w", err)
	}
	return at, nil
}
