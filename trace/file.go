package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a trace being written. It lies at PATH.part until Close, so that the
// final name always means a whole trace. A write that fails leaves no bytes.
type File struct {
	f     *os.File
	path  string // final name
	part  string // "" for a device or FIFO, which is written in place
	force bool
	size  int64
	dirty bool // bytes after size that could not be cut off yet
}

// Create opens PATH.part for a trace that Close will put at PATH. Without force
// it refuses when either exists; with force it replaces what is there, but never
// a file that another process is writing.
func Create(path string, force bool) (*File, error) {
	path = filepath.Clean(path)
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name a file in it", path)
	case err == nil && info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe) != 0:
		return inPlace(path)
	case err == nil && !force:
		return nil, fmt.Errorf("%s exists: choose another name, or --force to replace it", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	part := path + ".part"
	f, err := createPart(part, force)
	if err != nil {
		return nil, err
	}
	return &File{f: f, path: path, part: part, force: force}, nil
}

// inPlace opens what has no content to protect.
func inPlace(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return &File{f: f, path: path}, nil
}

// createPart makes the file that is written, and the lock that says so.
func createPart(part string, force bool) (*os.File, error) {
	f, err := openNew(part)
	if errors.Is(err, fs.ErrExist) {
		if err := clearPart(part, force); err != nil {
			return nil, err
		}
		f, err = openNew(part)
	}
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("%s: another process is writing it", part)
	}
	return f, nil
}

// clearPart removes what an earlier process left behind.
func clearPart(part string, force bool) error {
	info, err := os.Lstat(part)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s exists and is not a regular file: remove it", part)
	}
	f, err := openOld(part)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if lock(f) != nil {
		return fmt.Errorf("%s: another process is writing it", part)
	}
	if !force {
		return fmt.Errorf("%s is left from a recording that was interrupted; it can be read as it is: rename it to keep it, or --force to replace it", part)
	}
	return os.Remove(part)
}

// Write appends p or, on an error, nothing.
func (f *File) Write(p []byte) (int, error) {
	if f.dirty {
		if err := f.rewind(); err != nil {
			return 0, err
		}
	}
	n, err := f.f.Write(p)
	if err == nil {
		f.size += int64(n)
		return n, nil
	}
	if f.part == "" {
		return n, err
	}
	f.dirty = true
	_ = f.rewind() // tried again before the next write
	return 0, err
}

// rewind cuts off what a failed write left.
func (f *File) rewind() error {
	if err := f.f.Truncate(f.size); err != nil {
		return err
	}
	if _, err := f.f.Seek(f.size, 0); err != nil {
		return err
	}
	f.dirty = false
	return nil
}

// Name is where the trace will be.
func (f *File) Name() string { return f.path }

// Close makes the file durable and gives it its final name.
func (f *File) Close() error {
	if f.part == "" {
		return f.f.Close()
	}
	if err := f.finish(); err != nil {
		_ = f.f.Close() // the first error is the one to tell
		return fmt.Errorf("%w (what was written is in %s)", err, f.part)
	}
	return f.f.Close()
}

func (f *File) finish() error {
	if f.dirty {
		if err := f.rewind(); err != nil {
			return err
		}
	}
	if err := f.f.Sync(); err != nil {
		return err
	}
	if err := rename(f.part, f.path, f.force); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.path))
}

// Abandon closes the file and leaves it under its unfinished name.
func (f *File) Abandon() error { return f.f.Close() }

// syncDir makes a rename durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every file system has it
	return d.Close()
}
