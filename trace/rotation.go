package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Rotation is one trace in numbered files of a directory. Each holds whole
// segments and can be read by itself; the one being written is a .part.
type Rotation struct {
	dir    string
	number int // of the current file
	file   *File
}

// CreateRotation makes the directory, which must be new or empty, and its first
// file.
func CreateRotation(dir string) (*Rotation, error) {
	dir = filepath.Clean(dir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("a directory is needed for files that rotate: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty (%s): name a new directory", dir, entries[0].Name())
	}
	r := &Rotation{dir: dir}
	if _, err := r.Next(); err != nil {
		return nil, err
	}
	return r, nil
}

// Next closes the current file and begins the next one. After an error it may
// be called again.
func (r *Rotation) Next() (io.Writer, error) {
	if err := r.finish(); err != nil {
		return nil, err
	}
	f, err := Create(filepath.Join(r.dir, fmt.Sprintf("%06d.trace", r.number+1)), false)
	if err != nil {
		return nil, err
	}
	r.number++
	r.file = f
	return f, nil
}

func (r *Rotation) finish() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil // on an error it stays a .part, which is whole and can be read
	return err
}

// Write appends to the current file.
func (r *Rotation) Write(p []byte) (int, error) {
	if r.file == nil {
		return 0, errors.New("no file is open")
	}
	return r.file.Write(p)
}

// Name is that of the directory.
func (r *Rotation) Name() string { return r.dir }

// Close gives the last file its name.
func (r *Rotation) Close() error { return r.finish() }

// Abandon leaves the last file under its unfinished name.
func (r *Rotation) Abandon() error {
	if r.file == nil {
		return nil
	}
	return r.file.Abandon()
}
