package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Open reads files and directories of files as one trace. Files of one
// recording are put in order whatever their names; others are merged by time.
// What is not a regular file (a FIFO, a device) is read as a pipe.
func Open(paths ...string) (*Reader, error) {
	r := newReader()
	if r.err != nil {
		return nil, r.err
	}
	var refs []segmentRef
	for _, path := range paths {
		found, err := r.openPath(path)
		if err != nil {
			_ = r.Close()
			return nil, err
		}
		refs = append(refs, found...)
	}
	if len(refs)+len(r.sources) == 0 {
		return nil, errors.New("no trace named")
	}
	chains, err := chain(refs)
	if err != nil {
		return nil, err
	}
	for _, c := range chains {
		r.sources = append(r.sources, r.fileSource(c))
		for i := range c {
			r.headers = append(r.headers, c[i].header)
			r.files = append(r.files, c[i].file)
		}
	}
	return r, nil
}

// openPath finds the segments of a file or directory, or adds a pipe.
func (r *Reader) openPath(path string) ([]segmentRef, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return r.openDir(path)
	case info.Mode().IsRegular():
		return r.openFile(path, info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := r.pipeSource(f, path)
	s.file = f
	r.sources = append(r.sources, s)
	return nil, s.open()
}

func (r *Reader) openFile(path string, size int64) ([]segmentRef, error) {
	f, err := r.open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // was only read
	var b []byte
	head, err := fileInput{f}.view(0, headerSize, &b)
	if err != nil {
		return nil, err
	}
	if err := sniff(path, head); err != nil {
		return nil, err
	}
	refs, err := findSegments(f, path, size, &r.dec.z)
	if err == nil && len(refs) == 0 {
		err = fmt.Errorf("%s: %w: no start block can be read", path, ErrNotTrace)
	}
	return refs, err
}

// openDir takes the traces in a directory, unfinished ones too, and passes over
// whatever else lies there.
func (r *Reader) openDir(path string) ([]segmentRef, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var refs []segmentRef
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		found, err := r.openEntry(filepath.Join(path, e.Name()), e)
		if err != nil {
			return nil, err
		}
		refs = append(refs, found...)
	}
	if len(refs) == 0 {
		return nil, fmt.Errorf("%s: %w: no file in this directory is one", path, ErrNotTrace)
	}
	return refs, nil
}

func (r *Reader) openEntry(path string, e fs.DirEntry) ([]segmentRef, error) {
	info, err := e.Info()
	if err != nil {
		return nil, err
	}
	refs, err := r.openFile(path, info.Size())
	if errors.Is(err, ErrNotTrace) {
		return nil, nil
	}
	return refs, err
}
