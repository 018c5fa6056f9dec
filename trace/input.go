package trace

import (
	"errors"
	"io"
	"os"
)

// input gives the bytes of a trace by offset. A reader goes forward through it
// and says what it is done with, so that a pipe needs to keep little.
type input interface {
	// view gives n bytes at an offset, fewer only at the end of the input or
	// with an error. They are valid until the next call. buf is scratch.
	view(off int64, n int, buf *[]byte) ([]byte, error)
	// forget says that nothing before this offset will be asked for again.
	forget(off int64)
}

// chunk is by how much buffers grow: a length that was read from the input
// makes no larger allocation than the input has bytes for.
const chunk = 1 << 20

// readSome reads n bytes into buf by way of read, growing as bytes arrive.
func readSome(buf []byte, n int, read func([]byte) (int, error)) ([]byte, error) {
	for len(buf) < n {
		want := min(n, len(buf)+chunk)
		if cap(buf) < want {
			grown := make([]byte, len(buf), min(n, max(want, 2*cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		k, err := read(buf[len(buf):want])
		buf = buf[:len(buf)+k]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return buf, err
		}
	}
	return buf, nil
}

// readFile is a file that was opened to be read.
type readFile interface {
	io.ReaderAt
	io.Closer
}

// fileInput is a regular file, or anything else one can read by offset.
type fileInput struct{ f io.ReaderAt }

func (in fileInput) view(off int64, n int, buf *[]byte) ([]byte, error) {
	at := off
	b, err := readSome((*buf)[:0], n, func(p []byte) (int, error) {
		k, err := in.f.ReadAt(p, at)
		at += int64(k)
		return k, err
	})
	*buf = b
	return b, err
}

func (fileInput) forget(int64) {}

func openInput(path string) (in fileInput, done func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return fileInput{}, nil, err
	}
	return fileInput{f}, func() { _ = f.Close() }, nil // was only read
}

// streamInput is a pipe: it keeps what was not forgotten.
type streamInput struct {
	r    io.Reader
	buf  []byte // from offset base
	base int64
	keep int64 // what lies before is forgotten
}

func (in *streamInput) view(off int64, n int, _ *[]byte) ([]byte, error) {
	if err := in.drop(); err != nil {
		return nil, err
	}
	skip := int(off - in.base)
	var err error
	if len(in.buf) < skip+n {
		in.buf, err = readSome(in.buf, skip+n, in.read)
	}
	if len(in.buf) <= skip {
		return nil, err
	}
	return in.buf[skip:min(len(in.buf), skip+n)], err
}

// read fills p, as far as the pipe goes.
func (in *streamInput) read(p []byte) (int, error) {
	n, err := io.ReadFull(in.r, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// drop lets go of what is forgotten, and skips what was never looked at.
func (in *streamInput) drop() error {
	n := in.keep - in.base
	if n <= 0 {
		return nil
	}
	if n <= int64(len(in.buf)) {
		in.buf = in.buf[:copy(in.buf, in.buf[n:])]
		in.base = in.keep
		return nil
	}
	skipped, err := io.CopyN(io.Discard, in.r, n-int64(len(in.buf)))
	in.base += int64(len(in.buf)) + skipped
	in.buf = in.buf[:0]
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (in *streamInput) forget(off int64) { in.keep = max(in.keep, off) }
